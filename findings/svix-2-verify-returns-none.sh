#!/usr/bin/env bash
# With:   svix 2.9.1 and 1.96.0 of PyPI.
# Does:   verifies a webhook that is signed rightly, `Webhook(secret).verify(body, headers)`.
# Sees:   1.96.0 returns the parsed body, 2.9.1 returns None, as nothing but a version's change log says. Both
#         raise for a wrong signature.
# For us: customers who verify our webhooks by `payload = webhook.verify(…)` have no payload after an upgrade
#         of svix. docs/webhooks.md parses the body itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
command -v python3 >/dev/null || { echo "python3 is missing"; exit 2; }
cat >"$folder/verify.py" <<'PY'
import datetime, json
from svix.webhooks import Webhook, WebhookVerificationError

webhook = Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
body, now = json.dumps({"order": 7}), datetime.datetime.now(datetime.timezone.utc)
headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": str(int(now.timestamp())),
    "webhook-signature": webhook.sign("msg_1", now, body),
}
answer = webhook.verify(body, headers)
try:
    webhook.verify(body + " ", headers)
    print("a wrong signature is taken")
except WebhookVerificationError:
    print(repr(answer))
PY
for version in 1.96.0 2.9.1; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" -q install --disable-pip-version-check "svix==$version"
    said=$("$folder/$version/bin/python" "$folder/verify.py")
    echo "svix $version: $said"
    case $version in
        1.*) [ "$said" = "{'order': 7}" ] || exit 1 ;;
        *) [ "$said" = "None" ] || exit 1 ;;
    esac
done
