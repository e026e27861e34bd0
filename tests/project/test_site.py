"""The site: every page has its place, every link leads somewhere, every public name and key is in the reference.

`make docs` builds it and runs the gallery; here only what can be known without Sphinx.
"""

import doctest
import importlib
import re
import tomllib

import benchscript
from paths import ROOT, SRC
from tree import FILES, texts

import craton.scenario

DOCS = ROOT / "docs"
DEVELOPER = sorted((DOCS / "developer").glob("*.md"))
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if not {"generated", "_build"} & set(page.relative_to(DOCS).parts)]
GALLERY = sorted((DOCS / "gallery").glob("*.py"))
reference_pages, outside, check_site = (
    benchscript.load(name, DOCS) for name in ("reference_pages", "outside", "check_site")
)
NO_TABLES = {"Scenario", "Reading"}  # the first stands for the classes of all methods
TABLES = {name for name in craton.scenario.__all__ if name[0].isupper()} - NO_TABLES  # described by the pages of keys
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def sections(text):
    """{heading: what stands below it} of the headings of second order."""
    return dict(re.findall(r"^## ([\w.]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))


def entries(page):
    """Paths of the pages that a page's toctrees list, without their ending."""
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^ *([^\s:].*)$", block, re.MULTILINE):
            yield (page.parent / re.sub(r".*<(.+)>", r"\1", line)).resolve()


def anchors(page):
    """Anchors of a page's headings, as MyST and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    bare = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in bare}


def test_every_page_is_in_a_toctree_and_every_entry_is_there():
    listed = {entry for page in PAGES for entry in entries(page)}
    known = {page.with_suffix("") for page in (*PAGES, *GALLERY)}
    assert known - listed == {DOCS / "index"}, "add these pages to a toctree, such as docs/howto.md"
    assert not [e for e in listed - known if "generated" not in e.relative_to(DOCS).parts]


def test_links_and_anchors_lead_somewhere():
    broken = []
    for page in (*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        text = FENCED.sub("", page.read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            is_elsewhere = "://" in link or "generated" in path
            if not is_elsewhere and (not target.exists() or (anchor and anchor not in anchors(target))):
                broken.append((page.name, link))
        named = re.findall(r"`((?:bench|docs|examples|src|tests)/[\w./]+)`", text)
        broken += [(page.name, path) for path in named if not (ROOT / path).exists()]
    assert not broken


def test_files_named_are_there():
    """By the end of their paths, on the developer's pages."""
    files = [*ROOT.joinpath("src").rglob("*"), *ROOT.joinpath("tests").rglob("*.py")]
    paths = [f"/{path.relative_to(ROOT)}" + "/" * path.is_dir() for path in files]
    unnamed = ("vocabulary", "versioning", "packaging")
    for page in [DOCS / "one_run.md", *(p for p in DEVELOPER if p.stem not in unnamed)]:
        names = re.findall(r"`([\w/]+(?:\.(?:py|h|cpp|cu)|/))`", page.read_text())
        missing = [name for name in names if not any(path.endswith("/" + name) for path in paths)]
        assert len(names) > 5 and not missing, page.name


def test_every_page_is_linked_from_the_readme():
    """The developer's pages from README, CONTRIBUTING or docs/developer/architecture.md."""
    text = (ROOT / "README.md").read_text()
    assert not [page.name for page in sorted(DOCS.glob("*.md")) if f"(docs/{page.name})" not in text]
    assert "(CONTRIBUTING.md)" in text and "(docs/developer/architecture.md)" in text
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert not [page.name for page in DEVELOPER if f"(docs/developer/{page.name})" not in text]


def test_every_public_name_is_in_the_reference():
    listed = sections((DOCS / "reference" / "api.md").read_text(encoding="utf-8"))
    missing = []
    for name in ("craton", "craton.scenario", "craton.gravity", "craton.inverse", "craton.shots"):
        module, here = importlib.import_module(name), set(re.findall(r"^   (\w+)$", listed[name], re.MULTILINE))
        known = here | TABLES | {"Scenario"} | (set() if name == "craton" else set(craton.__all__))
        missing += [f"{name}.{public}" for public in set(public_names(module)) - known]
        missing += [f"{name}.{public} is not there" for public in here if not hasattr(module, public)]
    assert not missing, "add these names to docs/reference/api.md"


def public_names(module):
    """Names that a module gives: of `__all__`, else what it defines without an underscore."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return getattr(module, "__all__", [name for name in own if name[0] != "_"])


def test_pages_of_keys_have_every_table_with_every_key(tmp_path):
    reference_pages.write(tmp_path)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md")}
    described = {name for stem, page in pages.items() if stem.startswith("keys_") for name in sections(page)}
    assert not TABLES - described and not NO_TABLES & described
    for method, (_, tables) in reference_pages.tables_of_methods().items():
        page = pages[f"keys_{method}"]
        parts = sections(page)
        for name, table in tables.items():
            assert not [key for key in table.get("properties", ()) if f"| `{key}` |" not in parts[name]]
        links = re.findall(r"\]\(#(\w+)\)", page)
        assert len(links) > 20 and set(links) <= {name.lower() for name in tables}
    assert "## craton run" in pages["commands"] and "`--oversubscribe`" in pages["commands"]


def test_links_out_of_the_pages_stay_within_the_site():
    text = "[a](../CHANGELOG.md#b) [`c.py`](../src/c.py) [d](run.md) [e](../bench/e.md)"
    assert outside.turned(text, DOCS, DOCS) == "[a](generated/changelog.md#b) `c.py` [d](run.md) `e`"
    turned = outside.turned("[a](docs/run.md) [b](CHANGELOG.md) [c](https://example.org/d)", ROOT, DOCS / "generated")
    assert turned == "[a](../run.md) [b](changelog.md) [c](https://example.org/d)"


def test_a_site_with_mistakes_is_refused(tmp_path, capsys):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="#top">1</a><a href="b.html">2</a><a href="a.html#gone">3</a>'
        '<script src="https://cdn.example.org/x.js"></script><a href="https://example.org">4</a>'
    )
    (tmp_path / "s.css").write_text("@font-face { src: url(https://fonts.example.org/f) }")
    assert check_site.main(tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["a.html: broken link b.html", "a.html: broken link a.html#gone"]
    assert lines[2:4] == ["a.html: fetches https://cdn.example.org/x.js", "s.css: fetches url(http...)"]
    assert "craton.run is not in the reference" in lines


def test_examples_of_the_gallery_are_notebooks():
    """Text and code in cells, a title first, a picture from the code; the index shows it."""
    index = (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")
    for path in GALLERY:
        text = path.read_text(encoding="utf-8")
        compile(text, path.name, "exec")
        cells = re.split(r"^# %%", text, flags=re.MULTILINE)
        assert cells[1].startswith(" [markdown]\n# # "), f"{path.name}: the first cell is the title"
        assert text.count("# %%\n") >= 2 and "plot" in text and len(text.splitlines()) < 150, path.name
        assert f"({path.name})" in index


def test_examples_in_docstrings_run(tmp_path, monkeypatch):
    """In a folder with the example of two layers on a coarse grid."""
    changes = ["domain.spacing=400", "time.duration=0.5", "source.0.wavelet.tau=0.4", "output.sampling=0.05"]
    scenario = craton.load(ROOT / "examples" / "two_layers.toml", changes)
    text = craton.scenario.dumps(scenario.model_copy(update={"snapshots": ()}))
    (tmp_path / "two_layers.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    tried = 0
    for path in (path for path in FILES if ">>> " in texts()[path]):
        name = ".".join(path.relative_to(SRC).with_suffix("").parts)
        failures, count = doctest.testmod(importlib.import_module(name), extraglobs={"craton": craton})
        tried += count
        assert not failures, name
    assert tried >= 10


def test_project_files_agree():
    """Version, licence and Python of pyproject.toml also stand elsewhere; the drafts say that they are drafts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {project['version']}\n" in citation and project["license"] in citation
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f'version = "{project["version"]}"' in recipe
    needed = [re.sub(r"(?=[<>=])", " ", line, count=1) for line in project["dependencies"]]
    assert not [line for line in needed if f"    - {line}\n" not in recipe]
    packages = (DOCS / "developer" / "packaging.md").read_text(encoding="utf-8")
    for name in (".github/workflows/tests.yml", "packaging/Dockerfile", "packaging/craton.def"):
        assert "it has never been" in (ROOT / name).read_text(encoding="utf-8") and name in packages
