"""Write a synthetic repository of Python packages, for timing at sizes that no package index ships.

`python make_large.py FOLDER FILES`: packages of 100 modules; each has a class, three functions, and calls into the
module before it and into another package.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MODULE = '''"""Module {number} of package {package}: handles widgets of kind {number}."""

from __future__ import annotations

from p{other:04d}.m{other_module:04d} import Widget{other_number} as Other
from p{package:04d} import m{before:04d}


class Widget{number}:
    """A widget that can be opened and closed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.other = Other

    def open_widget(self) -> Widget{number}:
        return self.close_widget()

    def close_widget(self) -> Widget{number}:
        m{before:04d}.make_{before_number}(self.name).open_widget()
        return self


def make_{number}(name: str) -> Widget{number}:
    return Widget{number}(name)


def use_{number}(name: str) -> None:
    make_{number}(name).open_widget().close_widget()
'''


def main(folder: str, files: int) -> None:
    root = Path(folder)
    for number in range(files):
        package, module = divmod(number, 100)
        other = (package * 7 + 1) % max(1, files // 100)
        before = (module - 1) % min(100, files)
        path = root / f"p{package:04d}" / f"m{module:04d}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        values = {"number": number, "package": package, "other": other, "other_module": module}
        values |= {"other_number": other * 100 + module, "before": before, "before_number": package * 100 + before}
        path.write_text(MODULE.format(**values), "utf-8")
    subprocess.run(["git", "init", "-q", folder], check=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
