"""Letters that turn into each other."""

import pytest
import torch

from symscope.data.synthetic import letters
from symscope.errors import InputError


def test_mirror_images_have_the_means_of_other_letters():
    data = letters(300, 0)
    b, d, p, q = (data.x[data.labels == k].mean(0) for k in range(4))
    for image, other in ((b.flip(1), d), (b.flip(0), p), (b.flip(0, 1), q), (p.flip(1), q)):
        assert float((image - other).norm() / b.norm()) < 0.08
    assert float((b - d).norm() / b.norm()) > 0.5
    upper, lower = b[:8], b[8:]
    assert float(upper.sum()) < float(lower.sum())  # the bowl of b is below, its stem on the left
    assert float(upper[:, :8].sum()) > float(upper[:, 8:].sum())


def test_samples_differ_and_repeat():
    one, again, other = letters(4, 1, "Fx"), letters(4, 1, "Fx"), letters(4, 2, "Fx")
    assert torch.equal(one.x, again.x)
    assert not torch.equal(one.x, other.x)
    assert not torch.equal(one.x[0], one.x[1])
    assert one.labels.tolist() == [0] * 4 + [1] * 4


def test_unknown_letters_are_refused():
    with pytest.raises(InputError, match="expected letters among FJbdpqx, got 'bz'"):
        letters(2, 0, "bz")
    with pytest.raises(InputError, match="expected letters"):
        letters(2, 0, "")
