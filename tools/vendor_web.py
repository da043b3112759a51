"""Renew the vendored front-end files from the npm registry: python tools/vendor_web.py

Packs the versions of ``PACKAGES`` with npm, copies the files the web application uses and their
licences, and writes manifest.json with the hash of each. Nothing is built.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parents[1] / "src" / "seatrial" / "web" / "static" / "vendor"
PACKAGES = {
    "htm": (
        "3.1.1",
        "Apache-2.0, with Preact (MIT) inside",
        {"htm-preact.js": "preact/standalone.module.js", "htm.LICENSE": "LICENSE"},
    ),
    "preact": ("11.2.0", "MIT", {"preact.LICENSE": "LICENSE"}),
    "uplot": (
        "1.6.32",
        "MIT",
        {
            "uplot.js": "dist/uPlot.iife.min.js",
            "uplot.css": "dist/uPlot.min.css",
            "uplot.LICENSE": "LICENSE",
        },
    ),
}


def main() -> None:
    """Fetch, copy, write the manifest."""
    entries = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, (version, licence, wanted) in PACKAGES.items():
            packed = subprocess.run(
                ["npm", "pack", "--silent", f"{name}@{version}"],
                cwd=scratch,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()[-1]
            with tarfile.open(Path(scratch) / packed) as archive:
                for target, member in wanted.items():
                    found = archive.extractfile(f"package/{member}")
                    assert found is not None
                    data = found.read()
                    (VENDOR / target).write_bytes(data)
                    entries.append(
                        {
                            "file": target,
                            "package": name,
                            "version": version,
                            "member": member,
                            "licence": licence,
                            "sha256": hashlib.sha256(data).hexdigest(),
                        }
                    )
    (VENDOR / "manifest.json").write_text(json.dumps({"files": entries}, indent=1) + "\n")
    print(f"{len(entries)} files in {VENDOR}")


if __name__ == "__main__":
    main()
