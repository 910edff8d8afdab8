use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(into = "Wire", from = "Wire")]
#[derive(Clone)]
#[job(redact(token))]
struct Charge {
    token: String,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Wire {
    secret: String,
}

impl From<Charge> for Wire {
    fn from(charge: Charge) -> Self {
        Self { secret: charge.token }
    }
}

impl From<Wire> for Charge {
    fn from(wire: Wire) -> Self {
        Self { token: wire.secret }
    }
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
