# SPDX-License-Identifier: Apache-2.0
"""What a game's client does to sign a submission (docs/trust.md), by Python's own hmac."""
import hashlib
import hmac
import itertools
import time

now_ms = lambda: int(time.time() * 1000)


def signature(secret, method, target, body, session, time_ms, nonce):
    text = "\n".join(["rung-signature-1", method, target, hashlib.sha256(body).hexdigest(), session, str(time_ms), str(nonce)])
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


class Signer:
    """Signs with one session: the answer of POST /v1/sessions."""

    def __init__(self, session):
        self.session, self.secret = session["session"], session["secret"]
        self.nonces = itertools.count(1)

    def fields(self, method, target, body, time_ms=None, nonce=None):
        """(session, time, nonce, signature), as texts."""
        time_ms, nonce = time_ms or now_ms(), nonce or next(self.nonces)
        return self.session, str(time_ms), str(nonce), signature(self.secret, method, target, body, self.session, time_ms, nonce)

    def headers(self, method, target, body, **more):
        names = "Rung-Session", "Rung-Time", "Rung-Nonce", "Rung-Signature"
        return {"Content-Type": "application/json", **dict(zip(names, self.fields(method, target, body, **more)))}

    def command(self, *args, **more):
        """The words of a signed RUNG.SUBMIT."""
        body = b"".join(b"$%d\r\n%s\r\n" % (len(a.encode()), a.encode()) for a in map(str, args))
        return ["RUNG.SUBMIT", *args, "SIGNED", *self.fields("RESP", "RUNG.SUBMIT", body, **more)]
