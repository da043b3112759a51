"""How long a large trial takes: its page in ``serve`` and its dossier.

python bench/dossier.py [REQUESTS]      default 1,000,000 in 4 cells, a trial that nobody ran

Limits of the product: the page opens in under 2 s, the dossier is built in under 10 s.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
PAGE_LIMIT_S, DOSSIER_LIMIT_S = 2.0, 10.0


def made_up() -> ModuleType:
    """The generator of trials in the tests."""
    path = ROOT / "tests" / "made_up_trial" / "__init__.py"
    spec = importlib.util.spec_from_file_location("made_up_trial", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["made_up_trial"] = module
    spec.loader.exec_module(module)
    return module


def main(requests: int) -> int:
    """Make the trial, time the two, print one line of JSON; 1 if a limit is broken."""
    from seatrial.dossier import build
    from seatrial.web.views import Views

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "large"
        made_up().make_trial(folder, "regression", n=requests // 4, starts=2)
        views = Views(Path(scratch))
        start = time.perf_counter()
        json_bytes = len(str(views.trial("large")))
        page_s = time.perf_counter() - start
        start = time.perf_counter()
        html = build(folder).html
        dossier_s = time.perf_counter() - start
        found = {
            "requests": requests,
            "page_s": round(page_s, 3),
            "page_bytes": json_bytes,
            "dossier_s": round(dossier_s, 3),
            "dossier_bytes": html.stat().st_size,
            "rss_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    print(json.dumps(found))
    return int(page_s > PAGE_LIMIT_S or dossier_s > DOSSIER_LIMIT_S)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
