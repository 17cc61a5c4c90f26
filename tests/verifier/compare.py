"""Lets both verifiers judge exports, and compares their verdicts and first codes: placet-verify, and docs/verifier/verify.py.

    compare.py PLACET_VERIFY CASES honest|tampered [SAMPLE]

CASES is a file of verify/examples/logs. All cases go to placet-verify, and the first SAMPLE of them (all without it) to verify.py.
"""
import collections, json, pathlib, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "verifier"))
import verify  # noqa: E402
from standards import read_key  # noqa: E402

BATCH = 100


def of_program(program, cases):
    """The verdict and first code of each file of these cases, as placet-verify says it."""
    command = [program, "--json"]
    for case in cases:
        command += [f"--key={key}" for key in case["keys"]] + [f"--checkpoint={note}" for note in case["kept"]] + case["files"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1, 2) and done.stdout, f"placet-verify fell over: {done.stderr}"
    outcome = json.loads(done.stdout)
    assert done.returncode == {"verified": 0, "not_verified": 1, "failed": 2}[outcome["verdict"]], outcome["verdict"]
    found = [(report["verdict"], report["findings"][0]["code"] if report["findings"] else None) for report in outcome["exports"]]
    return [[found.pop(0) for _ in case["files"]] for case in cases]


def of_script(case):
    """The same, as verify.py says it."""
    keys = [key for text in case["keys"] for key in read_key(text)]
    kept = [pathlib.Path(path).read_bytes().decode() for path in case["kept"]]
    return [(verdict, code) for verdict, code, _ in verify.verify(case["files"], keys, kept)]


def main():
    program, path, kind = sys.argv[1:4]
    cases = [json.loads(line) for line in open(path, encoding="utf-8")]
    sample = int(sys.argv[4]) if len(sys.argv) > 4 else len(cases)
    # Honest logs have origins of their own, so many of them fit into one run; a case of tampering is a run of its own.
    size = BATCH if kind == "honest" else 1
    faults, right, codes = [], 0, collections.Counter()
    for start in range(0, len(cases), size):
        batch = cases[start:start + size]
        for place, (case, first) in enumerate(zip(batch, of_program(program, batch)), start):
            second = of_script(case) if place < sample else first
            if first != second:
                faults.append(f"{case['name']} ({case['files'][0]}): placet-verify says {first}, verify.py says {second}")
            worst = max(first, key=lambda found: ["verified", "not_verified", "failed"].index(found[0]))
            codes[worst[1]] += 1
            right += worst[1] in case["expected"]
            if kind == "honest" and worst[0] != "verified":
                faults.append(f"{case['name']} ({case['files'][0]}): an honest log is accused of {worst[1]}")
            if kind == "tampered" and worst[0] == "verified":
                faults.append(f"{case['name']} ({case['files'][0]}): the tampering is not found")
    print(f"{kind}: {len(cases)} cases, {min(sample, len(cases))} of them by both verifiers, {len(faults)} faults")
    if kind == "tampered" and any(case["expected"] for case in cases):
        print(f"{kind}: {right} of {len(cases)} for the right reason")
        if right * 100 < len(cases) * 95:
            faults.append("too few are found for the right reason")
    if kind != "honest":
        print("first codes: " + ", ".join(f"{code} {count}" for code, count in codes.most_common()))
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
