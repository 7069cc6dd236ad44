"""The engine gives the kernel's numbers whatever the tiles, the budget, the executor and the device."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.kernels._gram._gram import batched_gram, gram
from symscope.kernels._kernel import Kernel
from symscope.numerics import byte_count, byte_text
from tests.kernels.toy import (
    counted,
    entry_bytes,
    loop,
    points,
    polynomial,
    polynomial_blocks,
    polynomial_diagonal,
)
from tests.tolerances import ROUNDING, TILES


@given(n1=st.integers(1, 23), n2=st.integers(1, 23), tile=st.integers(1, 30), features=st.integers(1, 9))
def test_cross_gram_is_the_loop(n1, n2, tile, features):
    x1, x2 = points(n1, features), points(n2, features, seed=1)
    K = gram(polynomial, x1, x2, tile=tile)
    torch.testing.assert_close(K, loop(x1, x2), rtol=ROUNDING, atol=ROUNDING)
    assert K.dtype == torch.float64


@given(n=st.integers(1, 23), tile=st.integers(1, 30))
def test_symmetric_gram_is_the_loop_and_symmetric_to_the_bit(n, tile):
    x = points(n, 2, 3)
    K = gram(polynomial, x, tile=tile)
    torch.testing.assert_close(K, loop(x, x), rtol=ROUNDING, atol=ROUNDING)
    assert torch.equal(K, K.mT)
    assert torch.equal(K.diagonal(), polynomial_diagonal(x))


def test_the_tile_size_changes_nothing_but_rounding():
    x = points(130, 50)
    whole = gram(polynomial, x, tile=130)
    for tile in (1, 7, 64, 129):
        torch.testing.assert_close(gram(polynomial, x, tile=tile), whole, rtol=TILES, atol=TILES)
    torch.testing.assert_close(gram(polynomial, x, memory=100_000), whole, rtol=TILES, atol=TILES)


def test_only_the_lower_half_is_computed(tmp_path):
    log = tmp_path / "log"
    gram(counted(log), points(40, 3), tile=10)
    assert len(log.read_bytes()) == 10
    log.unlink()
    x = points(40, 3)
    gram(counted(log), x, x, tile=10)  # the same tensor twice is the symmetric case too
    assert len(log.read_bytes()) == 10
    log.unlink()
    gram(counted(log), x, x.clone(), tile=10)
    assert len(log.read_bytes()) == 16


def test_working_memory_stays_within_the_budget():
    peak = 0

    def measured(x1, x2):
        nonlocal peak
        block = polynomial_blocks(x1, x2)
        peak = max(peak, 3 * block.numel() * block.element_size())
        return block

    kernel = Kernel("measured", measured, polynomial_diagonal, entry_bytes)
    gram(kernel, points(300, 4), memory="200kB")
    assert 20_000 < peak <= 200_000


def test_kernel_object_calls_the_engine():
    x, y = points(5, 3), points(4, 3, seed=1)
    assert torch.equal(polynomial(x, y), gram(polynomial, x, y))
    assert torch.equal(polynomial.batched(x[None], y[None])[0], gram(polynomial, x, y))


@pytest.mark.parametrize("symmetric", [True, False])
def test_threads(symmetric):
    x, y = points(50, 3), None if symmetric else points(31, 3, seed=1)
    with ThreadPoolExecutor(3) as executor:
        K = gram(polynomial, x, y, tile=7, executor=executor)
    assert torch.equal(K, gram(polynomial, x, y, tile=7))


def test_processes():
    x = points(30, 3)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        K = gram(polynomial, x, tile=8, executor=executor)
    assert torch.equal(K, gram(polynomial, x, tile=8))


def test_dask():
    distributed = pytest.importorskip("distributed")
    x = points(30, 3)
    with distributed.Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as client:
        K = gram(polynomial, x, tile=8, executor=client.get_executor(), workers=2)
    assert torch.equal(K, gram(polynomial, x, tile=8))


def test_never_more_tiles_in_flight_than_workers():
    flying, most = 0, 0

    class Watched(ThreadPoolExecutor):
        def submit(self, *args, **kwargs):
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            future = super().submit(*args, **kwargs)
            future.add_done_callback(lambda _: landed())
            return future

    def landed():
        nonlocal flying
        flying -= 1

    with Watched(8) as executor:
        gram(polynomial, points(60, 2), tile=5, executor=executor, workers=2)
    assert most == 2


def test_an_error_in_a_worker_comes_out_and_stops_the_rest():
    calls = 0

    def failing(x1, x2):
        nonlocal calls
        calls += 1
        raise ArithmeticError("no such number")

    kernel = Kernel("failing", failing, polynomial_diagonal, entry_bytes)
    with ThreadPoolExecutor(2) as executor, pytest.raises(ArithmeticError, match="no such number"):
        gram(kernel, points(60, 2), tile=5, executor=executor)
    assert calls <= 4


def test_float32_is_computed_in_float32_and_close():
    x = points(40, 20)
    K = gram(polynomial, x, dtype=torch.float32)
    assert K.dtype == torch.float32
    exact = gram(polynomial, x)
    torch.testing.assert_close(K.double(), exact, rtol=1e-5, atol=1e-5)
    assert not torch.equal(K.double(), exact)
    assert gram(polynomial, x.float()).dtype == torch.float64


def test_out_is_filled_and_returned():
    x, y = points(6, 3), points(4, 3, seed=1)
    out = torch.full((6, 4), float("nan"), dtype=torch.float64)
    assert gram(polynomial, x, y, out=out, tile=2) is out
    assert torch.equal(out, gram(polynomial, x, y, tile=2))


def test_gradients_flow_through_tiles():
    x = points(5, 3).requires_grad_()
    gram(polynomial, x, tile=2).cos().sum().backward()
    y = x.detach().clone().requires_grad_()
    ((2 + y @ y.mT).square() / 7).cos().sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-10, atol=1e-10)
    with pytest.raises(InputError, match="gradients cannot flow through out, store or executor"):
        gram(polynomial, x, out=torch.empty(5, 5, dtype=torch.float64))


def test_progress_counts_every_entry_once():
    seen = []
    gram(polynomial, points(20, 3), tile=7, progress=lambda what, done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][0] == seen[-1][1] < 400


def test_progress_bar_shows_rate_and_time(capsys):
    gram(polynomial, points(20, 3), tile=7, progress=True)
    shown = capsys.readouterr()
    assert "polynomial" in shown.err
    assert "100%" in shown.err
    assert shown.out == ""


@given(
    b=st.integers(1, 6),
    n1=st.integers(1, 5),
    n2=st.integers(1, 5),
    memory=st.sampled_from([1000, 4000, "1MB"]),
)
def test_batched_is_the_loop_over_batches(b, n1, n2, memory):
    x1, x2 = points(b, n1, 3), points(b, n2, 3, seed=1)
    together = batched_gram(polynomial, x1, x2, memory=memory)
    each = torch.stack([loop(a, c) for a, c in zip(x1, x2, strict=True)])
    torch.testing.assert_close(together, each, rtol=ROUNDING, atol=ROUNDING)
    own = batched_gram(polynomial, x1, memory=memory)
    torch.testing.assert_close(own, torch.stack([loop(a, a) for a in x1]), rtol=ROUNDING, atol=ROUNDING)
    assert torch.equal(own, own.mT)


def test_batched_keeps_to_the_budget_and_reports_progress():
    sizes, seen = [], []

    def measured(x1, x2):
        sizes.append(x1.shape[0] * x1.shape[1] * (x1 if x2 is None else x2).shape[1])
        return polynomial_blocks(x1, x2)

    kernel = Kernel("measured", measured, polynomial_diagonal, entry_bytes)
    batched_gram(
        kernel, points(50, 4, 3), memory=20_000, progress=lambda what, done, total: seen.append((done, total))
    )
    assert max(sizes) * 40 <= 20_000
    assert seen[-1] == (800, 800)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_gives_the_same_numbers():
    x = points(200, 30)
    K = gram(polynomial, x, device="cuda", tile=64)
    assert K.device.type == "cpu"
    torch.testing.assert_close(K, gram(polynomial, x), rtol=TILES, atol=TILES)
    coarse = gram(polynomial, x.cuda(), dtype="tf32")
    assert coarse.device.type == "cuda"
    assert coarse.dtype == torch.float32
    torch.testing.assert_close(coarse.cpu().double(), K, rtol=1e-2, atol=1e-2)


X = points(4, 3)
NAN = X.clone()
NAN[2, 1] = float("nan")
INFINITE = X.clone()
INFINITE[0, 0] = float("inf")


@pytest.mark.parametrize(
    ("x1", "x2", "message"),
    [
        (X.long(), None, r"x1: expected floating-point numbers, got torch.int64; use x1.double\(\)"),
        (X, X.long(), "x2: expected floating-point numbers"),
        (NAN, None, r"x1: expected finite numbers, got .* first at index \(2, 1\)"),
        (X, INFINITE, r"x2: expected finite numbers, got .* first at index \(0, 0\)"),
        (X, X.float(), "expected one dtype, got torch.float64 and torch.float32"),
        (X, points(4, 2), r"expected points of one shape, got \(3,\) and \(2,\)"),
        (X, points(4, 3, 1), "expected points of one shape"),
        (X[:0], None, r"at least one point with at least one feature, got \(0, 3\)"),
        (X, X[:, :0], "x2: expected at least one point"),
        (X[0], None, "at least one axis of features"),
        (
            X,
            torch.empty(4, 3, device="meta", dtype=torch.float64),
            "got a tensor without data",
        ),
    ],
)
def test_bad_points(x1, x2, message):
    with pytest.raises(InputError, match=message):
        gram(polynomial, x1, x2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": 10}, "the smallest that would do is memory=88"),
        ({"memory": "lots"}, 'memory: expected bytes or text such as "2GB"'),
        ({"memory": -5}, "memory: expected a positive number"),
        ({"tile": -1}, "tile: expected a side of at least 1"),
        ({"dtype": torch.float16}, 'dtype: expected torch.float64, torch.float32 or "tf32"'),
        ({"dtype": "tf32"}, '"tf32" exists on CUDA only'),
        ({"device": "warp"}, "device: expected"),
        ({"out": torch.zeros(3, 3)}, r"out: expected shape \(4, 4\) of torch.float64"),
        ({"out": torch.zeros(4, 4).double(), "store": "there"}, "out and store: expected one of them"),
        ({"workers": 0}, "workers: expected at least 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        gram(polynomial, X, **options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_where_there_is_none():
    with pytest.raises(InputError, match="torch sees no CUDA device"):
        gram(polynomial, X, device="cuda")


def test_bad_batches():
    with pytest.raises(InputError, match="same number of batches, got 2 and 3"):
        batched_gram(polynomial, points(2, 4, 3), points(3, 4, 3))
    with pytest.raises(InputError, match=r"\[b, n, \*s\]"):
        batched_gram(polynomial, X)


def test_large_finite_numbers_are_no_infinity():
    x = torch.tensor([[1e308, 1e308], [1e308, -1e308]], dtype=torch.float64)  # their sum overflows
    zeros = Kernel("zero", lambda a, b: torch.zeros(1, 2, 2).double(), lambda a: a[:, 0] * 0, entry_bytes)
    assert gram(zeros, x).shape == (2, 2)


@pytest.mark.parametrize(
    ("text", "count"), [("2GB", 2 * 10**9), ("1.5 KiB", 1536), ("10", 10), (7.0, 7), ("3mb", 3 * 10**6)]
)
def test_byte_counts(text, count):
    assert byte_count(text) == count


@given(st.integers(1, 10**14))
def test_byte_text_reads_back_as_enough(count):
    assert count <= byte_count(byte_text(count)) <= 1.02 * count
