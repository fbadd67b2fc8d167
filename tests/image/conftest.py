"""The image's tests run where `make image-test` has built it, and there only. One container serves those that leave it
as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.image.containers import Container, container


@pytest.fixture(scope="session", autouse=True)
def _image() -> None:
    if "GUILDS_TEST_IMAGE" not in os.environ:
        pytest.skip("there is no image to test: `make image-test` builds one")


@pytest.fixture(scope="session")
def shared() -> Iterator[Container]:
    """A container of the image."""
    with container() as made:
        yield made


@pytest.fixture
def own() -> Iterator[Container]:
    """A container that nothing has been done with."""
    with container() as made:
        yield made
