"""Folders of images: values, channels, depths, and what is refused."""

from __future__ import annotations

import os
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from symscope.data._image_folder import image_folder
from symscope.errors import InputError


def folder_of_images(path, colour=False, sizes=((5, 4), (5, 4))):
    generator = np.random.default_rng(0)
    for name, (height, width) in zip(("cats", "dogs"), sizes, strict=True):
        (path / name).mkdir()
        for k in range(2):
            shape = (height, width, 3) if colour else (height, width)
            pixels = generator.integers(0, 256, shape, dtype=np.uint8)
            Image.fromarray(pixels).save(path / name / f"{k}.png")
    return path


def test_a_folder_of_images_for_each_class(tmp_path):
    result = image_folder(folder_of_images(tmp_path))
    assert result.x.shape == (4, 5, 4)
    assert result.labels.tolist() == [0, 0, 1, 1]
    with Image.open(tmp_path / "dogs" / "1.png") as image:
        assert torch.allclose(result.x[3] * 255, torch.from_numpy(np.asarray(image).astype(float)))


def test_colour_images_have_channels_first(tmp_path):
    result = image_folder(folder_of_images(tmp_path, colour=True))
    assert result.x.shape == (4, 3, 5, 4)
    with Image.open(tmp_path / "cats" / "0.png") as image:
        assert result.x[0, 2, 4, 1] == image.getpixel((1, 4))[2] / 255


def one_image_each(path, pixels, ending):
    for name in ("cats", "dogs"):
        (path / name).mkdir()
        Image.fromarray(pixels).save(path / name / f"0{ending}")
    return path


@pytest.mark.parametrize("ending", [".png", ".tif"])
def test_images_of_16_bits_keep_their_values(tmp_path, ending):
    pixels = np.array([[0, 1, 300], [40000, 65534, 65535]], dtype=np.uint16)
    result = image_folder(one_image_each(tmp_path, pixels, ending))
    assert result.x.shape == (2, 2, 3)
    assert np.allclose(result.x[1].numpy() * 65535, pixels, rtol=0, atol=1e-9)


def test_images_of_fractions_keep_their_values_and_others_are_refused(tmp_path):
    pixels = np.array([[0.0, 0.25], [0.5, 1.0]], dtype=np.float32)
    result = image_folder(one_image_each(tmp_path, pixels, ".tif"))
    assert torch.equal(result.x[0], torch.from_numpy(pixels).double())
    for wrong, said in ((255 * pixels, "0 to 255"), (-pixels, "-1 to -?0"), (pixels + np.nan, "nan to nan")):
        Image.fromarray(wrong).save(tmp_path / "dogs" / "0.tif")
        with pytest.raises(InputError, match=f"0.tif: expected pixels 0 to 1 in .* fractions, got {said}"):
            image_folder(tmp_path)
    Image.fromarray(np.array([[0, 70000]], dtype=np.int32)).save(tmp_path / "dogs" / "0.tif")
    with pytest.raises(InputError, match=r"expected pixels 0 to 65535 .* got 0 to 70000; rescale"):
        image_folder(tmp_path)


def test_hidden_folders_and_files_are_no_classes_and_no_images(tmp_path):
    folder_of_images(tmp_path)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / "cats" / "._0.png").write_bytes(b"not an image")
    assert image_folder(tmp_path).labels.tolist() == [0, 0, 1, 1]


def test_folders_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="expected images of one size"):
        image_folder(folder_of_images(tmp_path, sizes=((5, 4), (4, 4))))
    (tmp_path / "birds").mkdir()
    with pytest.raises(InputError, match=r"birds: expected images"):
        image_folder(tmp_path)
    (tmp_path / "birds" / "no.png").write_text("not an image")
    with pytest.raises(InputError, match=r"no.png: expected an image that can be read"):
        image_folder(tmp_path)


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


@pytest.mark.parametrize(
    ("width", "height"), [(4097, 4096), (30000, 30000), (2**31 - 1, 2**31 - 1), (2**32 - 1, 1)]
)
def test_images_that_would_fill_memory(width, height, tmp_path):
    folder_of_images(tmp_path)
    head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = png_chunk(b"IDAT", zlib.compress(bytes(1000))) + png_chunk(b"IEND", b"")
    (tmp_path / "cats" / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + body)
    with pytest.raises(InputError, match=r"0.png: expected (images of at most 16777216|an image that)"):
        image_folder(tmp_path)


@pytest.mark.parametrize("ending", [".png", ".jpg", ".bmp", ".gif", ".webp", ".tif"])
def test_damaged_images_are_refused_in_one_line(ending, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 7, 3), dtype=np.uint8)
    path = one_image_each(tmp_path, pixels, ending)
    whole = (path / "cats" / f"0{ending}").read_bytes()
    generator = np.random.default_rng(1)
    for _ in range(40):
        damaged = bytearray(whole[: generator.integers(1, len(whole) + 1)])
        damaged[generator.integers(len(damaged))] ^= 1 << generator.integers(8)
        (path / "cats" / f"0{ending}").write_bytes(damaged)
        try:
            image_folder(path)  # a flipped pixel is no damage
        except InputError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)  # noqa: PT017, PT018


def test_programs_disguised_as_images_are_not_run(tmp_path):
    folder_of_images(tmp_path)
    (tmp_path / "cats" / "0.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 4\nshowpage\n")
    with pytest.raises(InputError, match=r"0.png: expected an image that can be read"):
        image_folder(tmp_path)


def test_pipes_are_not_waited_for(tmp_path):
    folder_of_images(tmp_path)
    os.mkfifo(tmp_path / "cats" / "pipe.png")
    with pytest.raises(InputError, match=r"pipe.png: expected an image .* got: a pipe, socket or device"):
        image_folder(tmp_path)
