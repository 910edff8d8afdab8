use jobkit::{Job, JobContext, JobType, job};
use serde::{Deserialize, Serialize};

macro_rules! keyed {
    ($name:ident, $key:expr) => {
        #[derive(Debug, Serialize, Deserialize)]
        #[job(concurrency_key = $key, dead_letter_key = $key)]
        struct $name {
            id: i64,
            name: String,
            team: Option<i64>,
        }

        impl Job for $name {
            async fn run(self, _cx: JobContext) -> jobkit::Result {
                Ok(())
            }
        }

        impl $name {
            fn sample(team: Option<i64>) -> Self {
                Self { id: 7, name: "a".to_owned(), team }
            }

            #[allow(dead_code, reason = "the key of one kind")]
            fn full_name(&self) -> &str {
                &self.name
            }
        }
    };
}

keyed!(ByNumber, self.id);
keyed!(ByText, self.name);
keyed!(BySum, self.id + 1);
keyed!(ByMethod, self.full_name());
keyed!(ByOption, self.team);
keyed!(ByChain, self.team.map(|team| format!("{team}/{}", self.id)));
keyed!(ByReference, self.team.as_ref());
keyed!(ByBlock, {
    let Self { id, name, .. } = self;
    format!("{id}:{name}")
});
keyed!(ByCapture, format!("{self:?}").len());
keyed!(ByLiteral, "all");
keyed!(ByConstant, i64::MAX);

#[test]
fn is_accepted() {
    let key = |job: &dyn Fn(Option<i64>) -> Option<String>| (job(None), job(Some(1)));
    let both = |text: &str| (Some(text.to_owned()), Some(text.to_owned()));
    assert_eq!(key(&|team| ByNumber::sample(team).concurrency_key()), both("7"));
    assert_eq!(key(&|team| ByText::sample(team).concurrency_key()), both("a"));
    assert_eq!(key(&|team| BySum::sample(team).concurrency_key()), both("8"));
    assert_eq!(key(&|team| ByMethod::sample(team).concurrency_key()), both("a"));
    assert_eq!(key(&|team| ByBlock::sample(team).concurrency_key()), both("7:a"));
    let length = format!("{:?}", ByCapture::sample(None)).len().to_string();
    assert_eq!(ByCapture::sample(None).concurrency_key(), Some(length));
    assert_eq!(key(&|team| ByLiteral::sample(team).concurrency_key()), both("all"));
    let largest = i64::MAX.to_string();
    assert_eq!(key(&|team| ByConstant::sample(team).concurrency_key()), both(&largest));
    let some = |text: &str| (None, Some(text.to_owned()));
    assert_eq!(key(&|team| ByOption::sample(team).concurrency_key()), some("1"));
    assert_eq!(key(&|team| ByReference::sample(team).concurrency_key()), some("1"));
    assert_eq!(key(&|team| ByChain::sample(team).concurrency_key()), some("1/7"));
    assert_eq!(key(&|team| ByChain::sample(team).dead_letter_key()), some("1/7"));
    assert_eq!(key(&|team| ByLiteral::sample(team).dead_letter_key()), both("all"));
}
