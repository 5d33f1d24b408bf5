"""A stored piece is read as it was written, or named as damaged and counted as missing."""

import random
import shutil

import pandas as pd
import pytest
from test_sweep import counting, pieces, record, run

from companion.provenance import text_hash
from companion.results import Stored, results_folder
from companion.stored import COLUMNS, DamagedError, missing, read, write

HEADER = {"key": "b", "config": {"rate": 0.001, "seeds": [0, 1]}, "seconds": 12.5}


def test_what_is_written_is_read_back(tmp_path):
    frame, path = record({"n": 7}), tmp_path / "a" / "b.csv"
    write(path, HEADER, frame)
    about, found = read(path)
    body = path.read_text(encoding="utf-8").split("\n", 1)[1]
    config_hash = text_hash('{"rate": 0.001, "seeds": [0, 1]}')
    kept = {"rows": len(frame), "body_hash": text_hash(body), "config_hash": config_hash}
    assert about == {**HEADER, **kept}
    assert found.astype(str).to_dict() == frame.astype(str).to_dict()
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["b.csv"]


def test_what_is_read_can_be_written_again(tmp_path):
    """As `restamp` does: the digest of the header is that of the new one."""
    write(tmp_path / "a.csv", HEADER, record({"n": 7}))
    about, frame = read(tmp_path / "a.csv")
    write(tmp_path / "a.csv", about | {"code_hash": "new"}, frame)
    assert read(tmp_path / "a.csv")[0] == about | {"code_hash": "new"}


def test_files_of_another_origin_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DamagedError, match="x.csv has no provenance line"):
        read(tmp_path / "x.csv")
    (tmp_path / "y.csv").write_text("# {}\na,b\n1,2\n")
    with pytest.raises(DamagedError, match="y.csv is damaged: its first line is not a header"):
        read(tmp_path / "y.csv")


def many_rows():
    values = [f"{n / 7:.4f} {n * 1e3:.8g}" for n in range(40)]
    rows = [("train", "anchor:nu=k", "plug-in", n, v) for n, v in enumerate(values)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def damaged_copies(content, count, seed=0):
    """Cut anywhere, or with one bit flipped anywhere; in every second copy in the first line."""
    chance, first = random.Random(seed), content.find(b"\n") + 1 or len(content)
    for n in range(count):
        place = chance.randrange(first if n % 2 else len(content))
        if n % 4 == 0:
            yield content[:place]
        else:
            flipped = content[place] ^ 1 << chance.randrange(8)
            yield content[:place] + bytes([flipped]) + content[place + 1 :]


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.long)])
def test_no_cut_and_no_flipped_bit_is_read_as_another_number(tmp_path, count):
    path = tmp_path / "a.csv"
    write(path, HEADER, many_rows())
    whole, found = path.read_bytes(), 0
    about, records = read(path)
    for copy in damaged_copies(whole, count):
        path.write_bytes(copy)
        try:
            now = read(path)
        except DamagedError as error:
            assert "a.csv" in str(error)
            found += 1
        else:  # the name of the one field that older files do not have
            assert {k: v for k, v in now[0].items() if "head" not in k and "hash" not in k} == {
                k: v for k, v in about.items() if "hash" not in k
            }
            assert now[1].equals(records)
    assert found > 0.95 * count


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.long)])
def test_a_damaged_file_of_before_gives_no_other_records_and_no_other_configuration(
    tmp_path, count
):
    """Its header has digests of both, and none of itself."""
    source = next(iter(sorted((results_folder() / "gaussian").glob("ci-*.csv"))))
    path = shutil.copy(source, tmp_path / "a.csv")
    (about, records), found = read(path), 0
    for copy in damaged_copies(source.read_bytes(), count):
        path.write_bytes(copy)
        try:
            now = read(path)
        except DamagedError:
            found += 1
        else:
            assert now[0]["config"] == about["config"] and now[1].equals(records)
    assert found > 0.7 * count


def test_a_missing_row_is_noticed_where_the_digest_fits(tmp_path):
    """Two digests would have to be wrong; the number of records is a third look."""
    path = tmp_path / "a.csv"
    write(path, HEADER, many_rows())
    path.write_text(path.read_text().replace('"rows": 40', '"rows": 41').replace("head_hash", "h"))
    with pytest.raises(DamagedError, match="has 40 records, not 41"):
        read(path)


def test_a_damaged_piece_is_missing_named_and_made_again(tmp_path):
    log = []
    run(pieces(3), counting(log), tmp_path)
    path = tmp_path / "toy" / "p1.csv"
    whole = read(path)[1]
    path.write_text(path.read_text().replace("1 2\n", "1 3\n"))
    said = []
    assert [p.key for p in missing(pieces(3), tmp_path, said.append)] == ["p1"]
    (line,) = said
    assert line.startswith("p1 counts as missing: ") and "p1.csv is damaged: body_hash" in line
    table = Stored(tuple(pieces(3)), tmp_path, ("companion.provenance",))
    assert table.word == "PARTIAL" and table.damaged == ["p1.csv"]
    assert set(table.records["piece"]) == {"p0", "p2"}
    for words in (table.status(), table.short()):
        assert "2 of 3 pieces" in words and "DAMAGED and left out: p1.csv" in words
    run(pieces(3), counting(log), tmp_path)
    assert log == [0, 1, 2, 1]
    assert read(path)[1].equals(whole)
    table = Stored(tuple(pieces(3)), tmp_path, ("companion.provenance",))
    assert table.complete and "DAMAGED" not in table.status() + table.short()


def test_a_table_of_damaged_files_alone_names_them(tmp_path):
    run(pieces(1), counting([]), tmp_path)
    path = tmp_path / "toy" / "p0.csv"
    path.write_bytes(path.read_bytes()[:-5])
    table = Stored(tuple(pieces(1)), tmp_path, ())
    assert table.status().endswith("0 of 1 pieces are stored; DAMAGED and left out: p0.csv")
