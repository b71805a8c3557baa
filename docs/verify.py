#!/usr/bin/env python3
"""Checks an export of a tenant's events by docs/audit-format.md: a second implementation, in another language.

    python3 docs/verify.py --export events.ndjson [--proof proof.json] [--heads acme.ndjson] [--public-key KEY]
                           [--not-before INSTANT] [--strict]

Prints the verdict as one line of JSON. Ends with 0 when everything holds, with 1 when the data are at fault, with 2 when
they could not be checked. Needs Python 3.9 and, for signatures, the package `cryptography` or the program `openssl`.
"""

import argparse
import base64
import datetime
import decimal
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

START = "0" * 64
HEX = re.compile(r"[0-9a-f]{64}")
SEALED_TEXT = re.compile(r"v1:[^:]+:[A-Za-z0-9+/=]*")
MEMBERS = ("tenant_id", "position", "root", "signed_at", "algorithm", "public_key", "signature")
AFTER_HASH = ('","occurred_at":"', '","impersonated_by":"')
EVENT_MEMBERS = {"position", "stream", "revision", "id", "type", "data", "metadata", "sealed"}
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d\d:\d\d)", re.ASCII)
MOST_LEVELS = 256
LONGEST_LINE = 64 << 20
NO_JSON = object()


class Fault(Exception):
    def __init__(self, kind, message, line=None, stream=None, revision=None):
        super().__init__(message)
        self.value = {"kind": kind, "line": line, "stream": stream, "revision": revision, "message": message}


class Misuse(Exception):
    pass


# Signatures


def verifies(key_der, signature, text):
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.serialization import load_der_public_key
    except ImportError:
        return openssl_verifies(key_der, signature, text)
    try:
        load_der_public_key(key_der).verify(signature, text)
        return True
    except InvalidSignature:
        return False


def openssl_verifies(key_der, signature, text):
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, content in (("key", key_der), ("signature", signature), ("text", text)):
            paths[name] = os.path.join(folder, name)
            with open(paths[name], "wb") as file:
                file.write(content)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", paths["key"]]
        command += ["-rawin", "-in", paths["text"], "-sigfile", paths["signature"]]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def key_of(given):
    if os.path.exists(given):
        with open(given, encoding="ascii") as file:
            given = file.read()
    lines = [line.strip() for line in given.split("\n")]
    der = base64_of("".join(line for line in lines if not line.startswith("-----")))
    if der is None or len(der) != 44 or not der.startswith(bytes.fromhex("302a300506032b6570032100")):
        raise Misuse("--public-key must be an Ed25519 public key")
    return der


def base64_of(text):
    """None for what is not written as base64 is: some readers pass over characters that others refuse."""
    try:
        found = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return found if base64.b64encode(found).decode() == text else None


# Strict JSON


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def number_text(value):
    """As RFC 8785 writes a number."""
    if value == 0:
        return "0"
    _, digits, exponent = decimal.Decimal(repr(abs(value))).as_tuple()
    plain = "".join(map(str, digits)).lstrip("0")
    shown = plain.rstrip("0")
    point = len(plain) + exponent
    sign = "-" if value < 0 else ""
    if len(shown) <= point <= 21:
        return sign + shown + "0" * (point - len(shown))
    if 0 < point <= 21:
        return f"{sign}{shown[:point]}.{shown[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{shown}"
    fraction = f".{shown[1:]}" if len(shown) > 1 else ""
    return f"{sign}{shown[0]}{fraction}e{point - 1:+d}"


def number(text):
    value = float(text)
    if value in (float("inf"), float("-inf")) or number_text(value) != text:
        raise ValueError("this number is written in another way")
    return int(text) if re.fullmatch(r"-?\d+", text) else value


def members(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is repeated")
    return found


def levels(value):
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(levels, value.values() if isinstance(value, dict) else value), default=0)


def parsed(text):
    """NO_JSON for what is no strict JSON."""
    try:
        value = json.loads(
            text, parse_constant=refuse, parse_int=number, parse_float=number, object_pairs_hook=members
        )
        return value if levels(value) <= MOST_LEVELS else NO_JSON
    except (ValueError, RecursionError):
        return NO_JSON


def is_text(value):
    """Half a surrogate pair has no bytes that could be hashed."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def order(position):
    """Positions are compared by their UTF-16 code units."""
    return position.encode("utf-16-be")


# Heads


def head_of(text):
    value = parsed(text)
    good = isinstance(value, dict) and all(is_text(value.get(name)) for name in MEMBERS)
    return value if good else None


def stream_head_of(text):
    one = parsed(text)
    if not isinstance(one, dict) or not isinstance(one.get("stream"), str) or not isinstance(one.get("hash"), str):
        return None
    revision = one.get("revision")
    if not isinstance(revision, int) or isinstance(revision, bool) or abs(revision) >= 2**53:
        return None
    return one["stream"], revision, one["hash"]


def root_of(heads):
    """`heads`: (stream, revision, hash) of each stream, in the order of the streams' bytes."""
    lines = (f"{stream} {revision} {digest}" for stream, revision, digest in heads)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def byte_order(names):
    return sorted(names, key=lambda name: name.encode("utf-8", "replace"))


def lines_of(text):
    return [line for line in text.split("\n") if line.strip(" \t\r") != ""]


def proof_of(text):
    whole = head_of(text)
    if whole is not None:
        return whole, None
    first, *rest = lines_of(text) or [""]
    head = head_of(first)
    if head is None:
        raise Fault("bad_signature", "the proof is not a valid head")
    heads = [stream_head_of(line) for line in rest]
    if None in heads or root_of(heads) != head["root"]:
        raise Fault("bad_signature", "the list of heads is not the one that was signed")
    return head, heads


def heads_of(text):
    found = []
    for line in lines_of(text):
        head = head_of(line)
        if head is not None:
            found.append((head, None))
        elif parsed(line) is not NO_JSON:
            raise Fault("bad_signature", "a line in the file of heads is not a valid head")
    return found


def signed_text(head):
    names = ("tenant_id", "position", "root", "signed_at")
    return "\n".join(["workflow-platform audit head v1", *(head[name] for name in names)]).encode()


def instant(text):
    if not INSTANT.fullmatch(text):
        raise Misuse("--not-before must be a time such as 2026-01-31T00:00:00Z")
    return datetime.datetime.fromisoformat(re.sub(r"Z$", "+00:00", text))


def ordered_heads(proof, others, key, not_before):
    every = others if proof is None else [*others, proof]
    if not every:
        return []
    tenant = every[-1][0]["tenant_id"]
    for head, _ in every:
        signature = base64_of(head["signature"])
        well_formed = head["algorithm"] == "Ed25519" and signature is not None
        if not well_formed or not verifies(key, signature, signed_text(head)):
            raise Fault("bad_signature", f"the head at {head['position']} was not signed with this key")
        if head["tenant_id"] != tenant:
            raise Fault("foreign_head", f"the head at {head['position']} is of {head['tenant_id']}")
    by_position = {}
    for given in every:
        known = by_position.get(given[0]["position"])
        if known is not None and known[0]["root"] != given[0]["root"]:
            raise Fault("root_mismatch", "two heads of one position contradict each other")
        if known is None or known[1] is None:
            by_position[given[0]["position"]] = given
    heads = [by_position[position] for position in sorted(by_position, key=order)]
    if proof is not None and order(heads[-1][0]["position"]) > order(proof[0]["position"]):
        raise Fault("old_head", "there is a newer head than the proof")
    if not_before is not None:
        if instant(max(head["signed_at"] for head, _ in every)) < instant(not_before):
            raise Fault("old_head", "the newest head is too old")
    return heads


# Events


def same(one, other):
    """Equality of JSON values: Python's own says that 1 is True."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return float(one) == float(other)
    return type(one) is type(other) and one == other


def view_agrees(view, stored):
    if not isinstance(stored, dict):
        return view is None
    if not isinstance(view, dict) or view.keys() != stored.keys():
        return False
    for name, value in stored.items():
        if isinstance(value, str) and SEALED_TEXT.fullmatch(value):
            if not isinstance(view[name], str):
                return False
        elif not same(view[name], value):
            return False
    return True


def event_of(line):
    event = parsed(line)
    if not isinstance(event, dict) or event.keys() != EVENT_MEMBERS:
        return None
    sealed, revision = event["sealed"], event["revision"]
    if not isinstance(sealed, dict) or sealed.keys() != {"data", "metadata"}:
        return None
    texts = [event[name] for name in ("position", "stream", "id", "type")]
    texts += [sealed["data"], sealed["metadata"]]
    if not all(is_text(text) for text in texts):
        return None
    if not isinstance(revision, int) or isinstance(revision, bool) or not 0 <= revision < 2**53:
        return None
    position, stream, event_id, event_type, data, metadata = texts
    stored = parsed(metadata)
    agrees = view_agrees(event["data"], parsed(data))
    agrees = agrees and same(event["metadata"], None if stored is NO_JSON else stored)
    return position, stream, revision, event_id, event_type, data, metadata, agrees


class Verifier:
    def __init__(self, heads, strict):
        self.heads = heads
        self.strict = strict
        self.tips = {}
        self.tenant = heads[0][0]["tenant_id"] if heads else None
        self.line = 0
        self.events = 0
        self.covered = 0
        self.passed = 0
        self.position = ""

    def take(self, text):
        self.line += 1
        event = event_of(text)
        if event is None:
            raise Fault("unreadable_line", "this line is not an event", self.line)
        self.pass_heads(event)
        self.follow(*event)
        self.events += 1

    def follow(self, position, stream, revision, event_id, event_type, data, metadata, agrees):
        at = (self.line, stream, revision)
        if self.tenant is None:
            self.tenant = stream.split(".", 1)[0]
        if not stream.startswith(f"{self.tenant}."):
            raise Fault("foreign_event", "this is not of the tenant", *at)
        if order(position) <= order(self.position):
            raise Fault("out_of_order", "this comes after an event of a later or the same position", *at)
        self.position = position
        tip = self.tips.get(stream)
        expected = 0 if tip is None else tip[0] + 1
        if revision > expected:
            raise Fault("missing_event", "this is missing", self.line, stream, expected)
        if revision < expected:
            raise Fault("repeated_event", "this is repeated", *at)
        before = metadata.find('"prev_hash":"') + len('"prev_hash":"')
        previous = metadata[before : before + 64]
        begin = metadata.find('"hash":"')
        end = begin + len('"hash":"') + 64
        stated = metadata[begin + len('"hash":"') : end]
        rest = metadata[:begin] + metadata[end + 2 :]
        lines = [previous, stream, str(revision), event_id, event_type, data, rest]
        digest = hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()
        # Cut out from anywhere else it would leave the same rest.
        in_place = begin >= 2 and metadata.startswith("},", begin - 2) and metadata.startswith(AFTER_HASH, end)
        well_formed = in_place and HEX.fullmatch(stated) and HEX.fullmatch(previous)
        if not well_formed or digest != stated:
            raise Fault("changed_event", "this does not match its hash", *at)
        if previous != (START if tip is None else tip[1]):
            if tip is None:
                raise Fault("changed_event", "this does not begin its stream", *at)
            raise Fault("changed_event", "this was changed and given a new hash", tip[2], stream, tip[0])
        if not agrees:
            raise Fault("changed_view", "the view does not match the stored event", *at)
        self.tips[stream] = (revision, digest, self.line)

    def pass_heads(self, event):
        while self.passed < len(self.heads):
            if event is not None and order(event[0]) <= order(self.heads[self.passed][0]["position"]):
                return
            self.check_root(*self.heads[self.passed])
            self.passed += 1
            self.covered = self.events
        if event is not None and self.strict and self.heads:
            raise Fault("old_head", "this and what follows came after the head", self.line, event[1], event[2])

    def check_root(self, head, listed):
        if root_of((stream, *self.tips[stream][:2]) for stream in byte_order(self.tips)) == head["root"]:
            return
        if listed is not None:
            self.name_difference({stream: (revision, digest) for stream, revision, digest in listed})
        raise Fault("root_mismatch", "the events are not those that were signed")

    def name_difference(self, sealed):
        for stream in byte_order({*self.tips, *sealed}):
            tip, one = self.tips.get(stream), sealed.get(stream)
            has, had = (-1 if tip is None else tip[0]), (-1 if one is None else one[0])
            if has < had:
                raise Fault("missing_event", "this is missing", None, stream, has + 1)
            if has > had:
                raise Fault("inserted_event", "this did not exist when the head was signed", None, stream, had + 1)
            if tip[1] != one[1]:
                raise Fault("changed_event", "this, or an earlier event of its stream, was changed and given a new hash", tip[2], stream, has)

    def verdict(self, fault):
        head = self.heads[self.passed - 1][0] if self.passed else None
        return {
            "verified": fault is None,
            "fault": fault,
            "tenant_id": self.tenant,
            "events": self.events,
            "streams": len(self.tips),
            "head": None if head is None else {name: head[name] for name in ("position", "signed_at")},
            "not_covered": self.events - self.covered,
        }


def read(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


def check(options):
    verifier = Verifier([], False)
    try:
        heads = []
        if options.not_before is not None:
            instant(options.not_before)
        if options.proof is not None or options.heads is not None:
            if options.public_key is None:
                raise Misuse("--public-key is needed")
            key = key_of(options.public_key)
            others = [] if options.heads is None else heads_of(read(options.heads))
            if options.heads is not None and not others:
                raise Misuse("the file of --heads holds no head")
            proof = None if options.proof is None else proof_of(read(options.proof))
            heads = ordered_heads(proof, others, key, options.not_before)
        elif options.not_before is not None:
            raise Misuse("--not-before needs a head: --proof or --heads")
        verifier = Verifier(heads, options.strict)
        with sys.stdin.buffer if options.export == "-" else open(options.export, "rb") as file:
            for line in iter(lambda: file.readline(LONGEST_LINE + 1), b""):
                if not line.endswith(b"\n"):
                    raise Fault("unreadable_line", "the export is cut off, or the line too long", verifier.line + 1)
                try:
                    text = line[:-1].decode("utf-8")
                except UnicodeDecodeError:
                    # Read leniently, other bytes than the stored ones would have their hash.
                    text = ""
                verifier.take(text)
        verifier.pass_heads(None)
        return verifier.verdict(None)
    except Fault as fault:
        return verifier.verdict(fault.value)


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        raise Misuse(message)


def main():
    parser = Arguments(description=__doc__.splitlines()[0], allow_abbrev=False)
    for name in ("--export", "--proof", "--heads", "--public-key", "--not-before"):
        parser.add_argument(name, required=name == "--export")
    parser.add_argument("--strict", action="store_true")
    try:
        verdict = check(parser.parse_args())
        print(json.dumps(verdict), flush=True)
    except (Exception, KeyboardInterrupt) as error:
        # Python itself would end with 1, which means that the data were changed.
        try:
            print((str(error) or type(error).__name__).splitlines()[0], file=sys.stderr, flush=True)
        except (OSError, ValueError):
            pass  # Nobody reads it; the exit code says the same.
        return 2
    return 0 if verdict["verified"] else 1


if __name__ == "__main__":
    code = main()
    if code == 2:
        # What could not be written is not tried again at the exit, which would end with another code.
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sys.exit(code)
