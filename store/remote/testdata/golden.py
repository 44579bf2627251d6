# Writes golden.hex: an object by docs/FORMAT.md, signed by openssl, its payload a frame of zstd with
# one raw block (RFC 8878). Run it here.
import hashlib, struct, subprocess, tempfile

def text(b): return struct.pack("<I", len(b)) + b
def number(n): return text(struct.pack("<Q", n))

seed = bytes([1] * 32)
content = b"manifest\x00 of\r\n a unit"
payload = bytes.fromhex("28b52ffd20") + bytes([len(content)]) + struct.pack("<I", len(content) << 3 | 1)[:3] + content
created = 1795687200 * 10**9 + 5  # date -d 2026-11-26T10:00:00Z +%s
fields = (text(b"team-1") + text(b"manifest") + text(hashlib.sha256(b"name").digest()) + text(hashlib.sha256(payload).digest())
          + number(len(payload)) + number(len(content)) + text(hashlib.sha256(content).digest())
          + text(b"release, 2026") + number(created))
head = b"kstobj\r\n" + struct.pack("<II", 1, 16 + len(fields)) + fields
with tempfile.TemporaryDirectory() as d:
    with open(d + "/key.der", "wb") as f:
        f.write(bytes.fromhex("302e020100300506032b657004220420") + seed)
    with open(d + "/message", "wb") as f:
        f.write(text(b"kernstash object") + head)
    run = lambda *a: subprocess.run(["openssl", *a], check=True, capture_output=True).stdout
    public = run("pkey", "-inform", "DER", "-in", d + "/key.der", "-pubout", "-outform", "DER")[-32:]
    signature = run("pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", d + "/key.der", "-in", d + "/message")
whole = head + struct.pack("<I", 96) + public + signature + payload
with open("golden.hex", "w") as f:
    for i in range(0, len(whole), 32):
        f.write(whole[i:i + 32].hex() + "\n")
