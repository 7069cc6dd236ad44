"""Objects of our own making in three dimensions, turned about an axis and seen as small images.

Two kinds: sets of glowing points, which hide nothing, and closed surfaces, lit from the camera, whose near
side hides the far one. The camera looks along z and sees x and y, without perspective. Turning an object
about z therefore turns its image; after a turn about another axis the new image does not follow from the old.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.numerics import seeded

KINDS = {"points": "glowing points", "surface": "lit surfaces"}
POINTS = 20  # points of a set
BUMPS = 12  # bumps of a surface
SPLIT = 3  # each edge of the icosahedron in so many parts
SUPERSAMPLED = 2  # rays along each side of a pixel
EXTENT = 1.5  # half the width of the image; objects lie within 1
BLUR = 1.2  # pixels; finer detail than a pixel would not turn with the image


def turns(angles: int, tilt: float | int) -> Float[Tensor, "n 3 3"]:
    """Turns by multiples of `360 / n` degrees about an axis tilted from the line of sight.

    Rodrigues' formula, `R = I + sin(a) X + (1 - cos(a)) X^2` with X the cross product with the axis.

    Args:
        angles: Number of turns n, the first by nothing.
        tilt: Degrees between the axis and the line of sight: 0 turns the image, 90 is vertical.

    >>> (turns(4, 0)[1] @ torch.tensor([1.0, 0, 0], dtype=torch.float64)).round(decimals=9).tolist()
    [0.0, 1.0, 0.0]
    >>> (turns(4, 90)[1] @ torch.tensor([0, 2.0, 0], dtype=torch.float64)).round().abs().tolist()
    [0.0, 2.0, 0.0]
    """
    x, y, z = 0.0, math.sin(math.radians(tilt)), math.cos(math.radians(tilt))
    cross = torch.tensor([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]], dtype=torch.float64)
    angle = (2 * math.pi / angles * torch.arange(angles, dtype=torch.float64))[:, None, None]
    return torch.eye(3, dtype=torch.float64) + angle.sin() * cross + (1 - angle.cos()) * (cross @ cross)


def object_images(
    kind: str, count: int, rotations: Float[Tensor, "n 3 3"], side: int, seed: int, trial: int
) -> Float[Tensor, "m n side side"]:
    """Images of random objects under every rotation, each with pixels of mean 0 and variance 1.

    Args:
        kind: One of `KINDS`.
        count: Number of objects; the first objects are the same for every number.
        rotations: Rotations from `turns`.
        side: Side of the images.
        seed: Seed for drawing the objects.
        trial: Number of the data set drawn with that seed.

    >>> images = object_images("points", 2, turns(4, 0), 24, seed=0, trial=0)
    >>> bool(torch.allclose(images[:, 1], images[:, 0].rot90(1, (1, 2)), atol=1e-12))
    True
    """
    images = torch.stack(
        [
            (_point_images if kind == "points" else _surface_images)(rotations, side, (seed, 11, trial, one))
            for one in range(count)
        ]
    )
    centred = images - images.mean((-2, -1), keepdim=True)
    return centred / centred.square().mean((-2, -1), keepdim=True).sqrt()


def _point_images(
    rotations: Float[Tensor, "n 3 3"], side: int, seeds: tuple[int, ...]
) -> Float[Tensor, "n side side"]:
    """Every point adds a spot of its own brightness, wherever it is along the line of sight."""
    generator = seeded(*seeds)
    direction = torch.randn(POINTS, 3, generator=generator, dtype=torch.float64)
    radius = torch.rand(POINTS, 1, generator=generator, dtype=torch.float64) ** (1 / 3)
    brightness = 0.5 + torch.rand(POINTS, generator=generator, dtype=torch.float64)
    points = radius * direction / direction.norm(dim=1, keepdim=True)
    turned = points @ rotations.mT  # [n, points, 3]
    columns, rows = (_spots(turned[..., axis] * sign, side) for axis, sign in ((0, 1), (1, -1)))  # y is up
    return torch.einsum("p,npi,npj->nij", brightness, rows, columns)


def _spots(place: Float[Tensor, "n points"], side: int) -> Float[Tensor, "n points side"]:
    """A Gaussian of `BLUR` pixels along one side of the image, centred at each place in [-1, 1]."""
    return (-0.5 * ((_pixels(side) - place[..., None] * side / (2 * EXTENT)) / BLUR) ** 2).exp()


def _pixels(count: int) -> Float[Tensor, "count"]:
    """Centres of pixels, in pixels from the middle of the image."""
    return torch.arange(count, dtype=torch.float64) - (count - 1) / 2


def _surface_images(
    rotations: Float[Tensor, "n 3 3"], side: int, seeds: tuple[int, ...]
) -> Float[Tensor, "n side side"]:
    """The brightness of what each ray meets first, `|normal . z|`, averaged over rays and blurred."""
    vertices, faces = surface(seeds)
    fine = side * SUPERSAMPLED
    corners = (vertices @ rotations.mT)[:, faces]  # [n, faces, 3, 3]
    images = torch.stack([_first_met(one, fine) for one in corners])
    pooled = torch.nn.functional.avg_pool2d(images[:, None], SUPERSAMPLED)[:, 0]
    place = _pixels(side)
    blur = (-0.5 * ((place[:, None] - place) / (BLUR / 2)) ** 2).exp()
    blur = blur / blur.sum(1).max()
    return blur @ pooled @ blur.mT


def _first_met(corners: Float[Tensor, "faces 3 3"], side: int) -> Float[Tensor, "side side"]:
    """Lambert's law with the light at the camera: of all faces over a ray, the nearest one's brightness."""
    a, b, c = corners.unbind(1)
    normal = torch.linalg.cross(b - a, c - a)
    seen = normal[:, 2] > 1e-12  # those that face the camera: the others lie behind them
    a, b, c, normal = a[seen], b[seen], c[seen], normal[seen]
    shade = normal[:, 2] / normal.norm(dim=1)
    step = 2 * EXTENT / side
    place = _pixels(side) * step
    x, y = place.expand(side, side).flatten(), -place[:, None].expand(side, side).flatten()
    # barycentric coordinates of every ray in every face, [faces, rays]
    px, py = x - a[:, :1], y - a[:, 1:2]
    u, v = b - a, c - a
    second = (px * v[:, 1:2] - py * v[:, :1]) / normal[:, 2:]
    third = (py * u[:, :1] - px * u[:, 1:2]) / normal[:, 2:]
    inside = (second >= 0) & (third >= 0) & (second + third <= 1)
    z = torch.where(inside, a[:, 2:] + second * u[:, 2:] + third * v[:, 2:], -math.inf)
    depth, nearest = z.max(0)
    image = torch.where(depth > -math.inf, shade[nearest], 0.0)
    return image.reshape(side, side)


def surface(seeds: tuple[int, ...]) -> tuple[Float[Tensor, "v 3"], Int64[Tensor, "faces 3"]]:
    """A closed surface around the origin, the sphere with random bumps and dents: corners and triangles.

    >>> vertices, faces = surface((0,))
    >>> len(vertices) - len(faces) * 3 // 2 + len(faces)  # Euler's number of a sphere
    2
    """
    directions, faces = sphere()
    generator = seeded(*seeds)
    places = torch.randn(BUMPS, 3, generator=generator, dtype=torch.float64)
    heights = 2 * torch.rand(BUMPS, generator=generator, dtype=torch.float64) - 1
    near = directions @ (places / places.norm(dim=1, keepdim=True)).T
    radius = ((near - 1) / 0.15).exp() @ heights
    radius = (0.9 * radius).exp()
    return directions * (radius / radius.max())[:, None], faces


def sphere() -> tuple[Float[Tensor, "v 3"], Int64[Tensor, "faces 3"]]:
    """The unit sphere as triangles: the icosahedron, each face cut in `SPLIT^2`, seen from outside."""
    golden = (1 + math.sqrt(5)) / 2
    corners = torch.tensor([(0.0, s, t * golden) for s in (-1, 1) for t in (-1, 1)], dtype=torch.float64)
    corners = torch.cat([corners.roll(k, 1) for k in range(3)])
    apart = torch.cdist(corners, corners)
    edges = (apart > 0) & (apart < 2.1)
    triangles = [
        (i, j, k)
        for i in range(12)
        for j in range(i + 1, 12)
        for k in range(j + 1, 12)
        if edges[i, j] and edges[j, k] and edges[i, k]
    ]
    vertices: dict[tuple[float, ...], int] = {}
    faces = []
    for triangle in triangles:
        a, b, c = corners[list(triangle)]
        if torch.linalg.det(torch.stack([a, b, c])) < 0:
            b, c = c, b
        grid = {}
        for i in range(SPLIT + 1):
            for j in range(SPLIT + 1 - i):
                point = a + (b - a) * i / SPLIT + (c - a) * j / SPLIT
                key = tuple(round(value, 9) for value in point.tolist())
                grid[i, j] = vertices.setdefault(key, len(vertices))
        for i in range(SPLIT):
            for j in range(SPLIT - i):
                faces.append((grid[i, j], grid[i + 1, j], grid[i, j + 1]))
                if i + j < SPLIT - 1:
                    faces.append((grid[i + 1, j], grid[i + 1, j + 1], grid[i, j + 1]))
    points = torch.tensor(list(vertices), dtype=torch.float64)
    return points / points.norm(dim=1, keepdim=True), torch.tensor(faces)
