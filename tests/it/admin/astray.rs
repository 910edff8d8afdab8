//! What is redacted lies where `#[job]` says, or the payload is refused or hidden as a whole.

use jobkit::admin::jobs::JobQuery;
use jobkit::enqueue::{EnqueueError, Statement};
use jobkit::{Admin, Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

in_a_lab![sql_takes_no_payload_in_which_nobody_knows_what_to_hide];

/// Says all that it knows.
#[derive(Serialize, Deserialize)]
#[job(kind = "astray", redact(token, card.number, cards.number), max_attempts = 1)]
struct Astray {
    token: String,
    card: Option<Card>,
    cards: Vec<Card>,
    note: String,
}

#[derive(Serialize, Deserialize, Debug)]
struct Card {
    number: String,
}

impl Job for Astray {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        let Self { token, card, cards, note } = self;
        Err(format!("{token} {card:?} {cards:?} {note}").into())
    }
}

/// Its paths lead nowhere: the key is misspelt, and serde has another name for the field.
macro_rules! wrong {
    ($name:ident $kind:literal $($path:tt)*) => {
        #[derive(Serialize, Deserialize)]
        #[job(kind = $kind, redact($($path)*))]
        struct $name {
            card: Option<Renamed>,
        }

        impl Job for $name {
            async fn run(self, _cx: JobContext) -> jobkit::Result {
                Ok(())
            }
        }
    };
}

#[derive(Serialize, Deserialize)]
struct Renamed {
    #[serde(rename = "Card-No")]
    number: String,
}

wrong!(Misspelt "misspelt" card."Card-Nr");
wrong!(ByField "by_field" card.number);
wrong!(ByKey "by_key" card."Card-No");

const SECRET: &str = "secret-4711471147";

fn renamed() -> Option<Renamed> {
    Some(Renamed { number: SECRET.to_owned() })
}

#[tokio::test]
async fn a_path_that_leads_nowhere_is_refused_by_the_enqueue() {
    let lab = Lab::new().await;
    let refused = |error: EnqueueError, of: &str, at: &str| {
        let text = error.to_string();
        assert!(
            text.contains(&format!("`{at}` leads nowhere")) && !text.contains("4711"),
            "{text}"
        );
        assert!(
            matches!(&error, EnqueueError::Misplaced { kind, path, .. }
                if *kind == of && path == at),
            "{error:?}"
        );
    };
    let misspelt = || Misspelt { card: renamed() };
    let error = misspelt().enqueue(lab.pool()).await.unwrap_err();
    refused(error, "misspelt", "card.Card-Nr");
    let error = jobkit::enqueue_all([misspelt(), misspelt()], lab.pool()).await.unwrap_err();
    refused(error, "misspelt", "card.Card-Nr");
    refused(Statement::enqueue(misspelt()).unwrap_err(), "misspelt", "card.Card-Nr");
    let error = ByField { card: renamed() }.enqueue(lab.pool()).await.unwrap_err();
    refused(error, "by_field", "card.number");
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    Misspelt { card: None }.enqueue(lab.pool()).await.unwrap();
    ByKey { card: renamed() }.enqueue(lab.pool()).await.unwrap();
    ByKey { card: None }.enqueue(lab.pool()).await.unwrap();
}

/// A worker has announced the kind.
async fn announced() -> (Lab, Admin) {
    let lab = Lab::new().await;
    announce(&lab).await;
    let admin = Admin::new(lab.pool());
    (lab, admin)
}

async fn announce(lab: &Lab) {
    let worker = lab.worker().jobs([Registration::of::<Astray, _>()]).queue("default", 4);
    worker.start().await.unwrap().stop().await;
}

/// Payloads that stray, and how they are shown.
const STRAYS: [(&str, &str); 6] = [
    (r#"["secret-4711471147", null, [], "secret-4711471147"]"#, r#""•••""#),
    (r#""secret-4711471147""#, r#""•••""#),
    (r#"{"card": "secret-4711471147", "note": "n"}"#, r#"{"card": "•••", "note": "n"}"#),
    (r#"{"card": ["secret-4711471147"], "note": "n"}"#, r#"{"card": "•••", "note": "n"}"#),
    (r#"{"card": {"numbr": "secret-4711471147"}, "note": "n"}"#, r#"{"card": "•••", "note": "n"}"#),
    (r#"{"cards": [{"number": "1"}, "secret-4711471147"]}"#, r#"{"cards": "•••"}"#),
];

pub(crate) async fn sql_takes_no_payload_in_which_nobody_knows_what_to_hide(lab: Lab) {
    announce(&lab).await;
    let mut session = lab.session("producer").await;
    let enqueue = |args: &str| format!("select jobkit.enqueue('astray', '{args}')");
    for (args, _) in STRAYS {
        let error = session.value::<i64>(&enqueue(args)).await.expect_err(args);
        let error = error.into_database_error().unwrap();
        // No kind like this takes a text, whatever is to be hidden in it.
        let code = if args.starts_with('"') { "JK008" } else { "JK010" };
        assert_eq!(error.code().as_deref(), Some(code), "{args}: {error}");
        assert!(!error.to_string().contains("4711"), "{error}");
    }
    for args in [
        "{}",
        r#"{"token": "x", "card": null, "cards": []}"#,
        r#"{"card": {"number": "x", "more": 1}, "cards": [{"number": null}, null, {}]}"#,
        r#"{"card": {}, "other": ["x"]}"#,
    ] {
        session.value::<i64>(&enqueue(args)).await.expect(args);
    }
}

#[tokio::test]
async fn what_strays_is_hidden_as_a_whole_and_found_by_nothing() {
    let (lab, admin) = announced().await;
    let id = lab.value::<i64>("select jobkit.enqueue('astray', '{}')").await;
    for (args, shown) in STRAYS {
        lab.run(&format!("update jobkit.jobs set args = '{args}'")).await;
        let job = admin.job(jobkit::JobId(id)).get().await.unwrap().unwrap();
        assert_eq!(job.args.redacted(), shown);
        assert!(job.args.is_redacted() && !format!("{job:?}").contains("4711"), "{args}");
        for (words, reveal, found) in [
            ("kind:astray args.note:n", false, 0),
            ("kind:astray args.card.numbr:secret-4711471147", false, 0),
            ("kind:astray args.note:n", true, u64::from(args.contains("note"))),
        ] {
            let mut query: JobQuery = words.parse().unwrap();
            query.reveal = reveal;
            let count = admin.count_jobs(&query).await.unwrap();
            assert_eq!(u64::from(count.number()), found, "{args} {words} {reveal}");
        }
    }
}

/// serde makes a struct of a list as well.
#[tokio::test]
async fn no_error_shows_what_strayed() {
    let (lab, admin) = announced().await;
    let id = lab.value::<i64>("select jobkit.enqueue('astray', '{}')").await;
    lab.run(&format!("update jobkit.jobs set args = '{}' where id = {id}", STRAYS[0].0)).await;
    let worker = lab.worker().jobs([Registration::of::<Astray, _>()]).queue("default", 4);
    let worker = worker.start().await.unwrap();
    lab.until("count(*) = 1 from jobkit.dead_letters").await;
    worker.stop().await;
    let error: String = lab.value("select error || errors from jobkit.dead_letters").await;
    assert!(error.contains("••• None [] •••") && !error.contains("4711"), "{error}");
    let job = admin.job(jobkit::JobId(id)).get().await.unwrap().unwrap();
    assert!(!format!("{job:?}").contains("4711"));
}
