//! A handler gets what was enqueued, or the enqueue refuses it; so it is with results and
//! checkpoints.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;
use std::time::Duration;

use jobkit::enqueue::wait::WaitError;
use jobkit::enqueue::{EnqueueError, Topic};
use jobkit::{Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const LONG: Duration = Duration::from_secs(30);

/// Keeps it, reads it again, says what it got, and returns it.
#[derive(Serialize, Deserialize)]
#[job(result = Any, max_attempts = 1)]
struct Carry {
    any: Any,
}

impl Job<UnboundedSender<String>> for Carry {
    async fn run(self, cx: JobContext<UnboundedSender<String>>) -> jobkit::Result<Any> {
        cx.checkpoint(&self.any).await?;
        let kept: Any = cx.last_checkpoint().await?.expect("it was kept");
        cx.state().send(format!("{:?}", self.any)).expect("the test listens");
        cx.state().send(format!("{kept:?}")).expect("the test listens");
        Ok(self.any)
    }
}

/// What serde can say.
#[derive(Serialize, Deserialize, Debug, Clone)]
enum Any {
    Nothing,
    Float(f64),
    Single(f32),
    Floats(Vec<f64>),
    Perhaps(Option<f64>),
    Wide(u128, i128),
    Tagged(Tagged),
    Adjacent(Adjacent),
    Untagged(Untagged),
    Flat(Flat),
    FlatWide(FlatWide),
    Lost {
        #[serde(skip_serializing)]
        lost: u8,
    },
    Left {
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        left: Vec<u8>,
        #[serde(skip_serializing_if = "is_zero", default = "seven")]
        other: u8,
    },
    Keys(BTreeMap<i32, f64>, BTreeMap<char, ()>, BTreeMap<u128, bool>),
    FloatKeys(Keyed),
    Nested(Option<Option<u8>>),
    Unit(Option<()>),
    Tuple(u8, (String, Named), Newtype),
    Char(char),
    Text(String),
    Bytes(Bytes),
    Set(HashSet<String>),
    Map(HashMap<String, Option<f64>>),
    Json(serde_json::Value),
    Null(Option<serde_json::Value>),
}

#[derive(Serialize, Deserialize, Debug, Clone)]
#[serde(tag = "type")]
enum Tagged {
    Narrow { number: u64, float: f64 },
    Wide { number: u128 },
}

#[derive(Serialize, Deserialize, Debug, Clone)]
#[serde(tag = "type", content = "content")]
enum Adjacent {
    Wide(u128),
    None,
}

#[derive(Serialize, Deserialize, Debug, Clone)]
#[serde(untagged)]
enum Untagged {
    Float(f64),
    Integer(i64),
    Text(String),
}

#[derive(Serialize, Deserialize, Debug, Clone)]
struct Flat {
    #[serde(flatten)]
    named: Named,
    #[serde(flatten)]
    others: BTreeMap<String, f64>,
}

#[derive(Serialize, Deserialize, Debug, Clone)]
struct FlatWide {
    #[serde(flatten)]
    named: Wide,
}

#[derive(Serialize, Deserialize, Debug, Clone)]
struct Wide {
    number: i128,
}

#[derive(Serialize, Deserialize, Debug, Clone)]
struct Named {
    name: Option<String>,
}

#[derive(Serialize, Deserialize, Debug, Clone)]
struct Newtype(f64);

/// A map whose keys are floats.
#[derive(Serialize, Deserialize, Debug, Clone)]
struct Keyed(#[serde(with = "keyed")] f64);

mod keyed {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(key: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map([(key, 1)])
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        let map = BTreeMap::<String, u8>::deserialize(from)?;
        map.into_keys()
            .next()
            .and_then(|key| key.parse().ok())
            .ok_or_else(|| serde::de::Error::custom("no key"))
    }
}

#[derive(Debug, Clone)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::deserialize(from).map(Self)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

fn seven() -> u8 {
    7
}

struct World {
    lab: Lab,
    got: UnboundedReceiver<String>,
    worker: jobkit::WorkerHandle,
}

impl World {
    async fn new() -> Self {
        let lab = Lab::new().await;
        let (send, got) = unbounded_channel();
        let jobs = [Registration::of::<Carry, _>(), Registration::of::<Odd, _>()];
        let worker = lab.worker().state(send).jobs(jobs).queue("default", 4);
        let worker = worker.start().await.unwrap();
        Self { lab, got, worker }
    }

    /// Arrives everywhere as it was, or is refused; then the text says where.
    async fn carry(&mut self, any: Any) -> Result<(), String> {
        let said = format!("{any:?}");
        let job = Carry { any };
        let returned = match job.enqueue_and_wait(self.lab.pool(), LONG).await {
            Ok(returned) => returned,
            Err(WaitError::NotEnqueued(EnqueueError::Encode { kind: "carry", source })) => {
                return Err(source.to_string());
            }
            Err(other) => panic!("{said}: {other}"),
        };
        let got = [self.got.recv().await.unwrap(), self.got.recv().await.unwrap()];
        assert_eq!([got[0].as_str(), &got[1], &format!("{returned:?}")], [said.as_str(); 3]);
        Ok(())
    }
}

fn named(name: Option<&str>) -> Named {
    Named { name: name.map(str::to_owned) }
}

#[tokio::test]
async fn a_handler_gets_what_was_enqueued_to_the_last_bit() {
    let mut world = World::new().await;
    let odd = [
        117.633_313_994_000_17,
        0.091_443_385_121_128_87,
        1.577_777_777_777_000_1,
        -8.990_567_403_888_024e-203,
        9_007_199_254_740_991.0,
        0.1 + 0.2,
        -0.0,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
    ];
    // The same ones in each run.
    let mut random = fastrand::Rng::with_seed(7);
    let bits = std::iter::repeat_with(|| f64::from_bits(random.u64(..)));
    let floats = odd.into_iter().chain(bits.filter(|float| float.is_finite()).take(2_000));
    let others = BTreeMap::from([("x".to_owned(), 96.550_000_000_000_01)]);
    for any in [
        Any::Nothing,
        Any::Floats(floats.collect()),
        Any::Single(0.1),
        Any::Single(f32::MIN_POSITIVE),
        Any::Perhaps(None),
        Any::Wide(u128::MAX, i128::MIN),
        Any::Tagged(Tagged::Narrow { number: u64::MAX, float: odd[0] }),
        Any::Adjacent(Adjacent::None),
        Any::Untagged(Untagged::Float(odd[1])),
        Any::Untagged(Untagged::Text("1".to_owned())),
        Any::Flat(Flat { named: named(Some("a")), others }),
        Any::Left { left: Vec::new(), other: 7 },
        Any::Keys([(-1, odd[0])].into(), [('é', ())].into(), [(u128::MAX, true)].into()),
        Any::FloatKeys(Keyed(odd[0])),
        Any::Nested(Some(Some(1))),
        Any::Nested(None),
        Any::Unit(None),
        Any::Tuple(1, ("\"\\\n\u{1}\u{10ffff}".to_owned(), named(None)), Newtype(odd[2])),
        Any::Char('\u{ffff}'),
        Any::Text("é\u{2028}".to_owned()),
        Any::Bytes(Bytes(vec![0, 255])),
        Any::Set([].into()),
        Any::Json(serde_json::json!({"a": [null, 1e-7, odd[0], u64::MAX, i64::MIN]})),
        Any::Null(None),
    ] {
        let said = format!("{any:?}");
        assert_eq!(world.carry(any).await, Ok(()), "{said}");
    }
    world.worker.stop().await;
}

#[tokio::test]
async fn what_would_arrive_changed_is_refused_before_anything_is_sent() {
    let mut world = World::new().await;
    let nan = [("a".to_owned(), Some(1.0)), ("b".to_owned(), Some(f64::NAN))];
    for (any, place) in [
        (Any::Float(f64::NAN), "`any.Float`: invalid type: null"),
        (Any::Float(f64::INFINITY), "`any.Float`"),
        (Any::Single(f32::NEG_INFINITY), "`any.Single`"),
        (Any::Floats(vec![1.0, f64::NAN]), "`any.Floats[1]`"),
        (Any::Perhaps(Some(f64::NAN)), "`any.Perhaps` is read back as something else"),
        (Any::Map(nan.into()), "`any.Map.b` is read back"),
        (Any::Tagged(Tagged::Wide { number: 1 }), "`any.Tagged"),
        (Any::Adjacent(Adjacent::Wide(1)), ""),
        (Any::FlatWide(FlatWide { named: Wide { number: -1 } }), "`any.FlatWide"),
        (Any::Untagged(Untagged::Integer(-1)), "`any.Untagged` is read back"),
        (Any::Lost { lost: 1 }, "missing field `lost`"),
        (Any::Left { left: Vec::new(), other: 0 }, "`any.Left"),
        (Any::FloatKeys(Keyed(f64::NAN)), "float key must be finite"),
        (Any::Nested(Some(None)), "`any.Nested` is read back"),
        (Any::Unit(Some(())), "`any.Unit` is read back"),
        (Any::Null(Some(serde_json::Value::Null)), "`any.Null` is read back"),
    ] {
        let said = format!("{any:?}");
        match world.carry(any.clone()).await {
            Err(why) => assert!(why.contains(place), "{said}: {why}"),
            // What a variant holds alone serde reads without a detour.
            Ok(()) => assert!(matches!(any, Any::Adjacent(_)), "{said}"),
        }
    }
    assert_eq!(world.lab.count("jobkit.dead_letters").await, 0);
    world.worker.stop().await;
}

/// Returns and keeps what JSON has no word for.
#[derive(Serialize, Deserialize)]
#[job(kind = "odd", result = Option<f64>, max_attempts = 1)]
struct Odd {
    float: Option<Bits>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
struct Bits(u64);

impl Job<UnboundedSender<String>> for Odd {
    async fn run(self, cx: JobContext<UnboundedSender<String>>) -> jobkit::Result<Option<f64>> {
        let float = self.float.map(|bits| f64::from_bits(bits.0));
        let kept = cx.checkpoint(&BTreeMap::from([("page", float)])).await;
        cx.state().send(kept.map_or_else(|error| error.to_string(), |()| String::new()))?;
        Ok(float)
    }
}

#[tokio::test]
async fn results_and_checkpoints_are_kept_as_they_are_or_not_at_all() {
    let mut world = World::new().await;
    for float in [None, Some(0.1 + 0.2)] {
        let odd = Odd { float: float.map(|float: f64| Bits(float.to_bits())) };
        assert_eq!(odd.enqueue_and_wait(world.lab.pool(), LONG).await.unwrap(), float);
        assert_eq!(world.got.recv().await.unwrap(), "");
    }
    for float in [f64::NAN, f64::INFINITY] {
        let odd = Odd { float: Some(Bits(float.to_bits())) };
        let error = odd.enqueue_and_wait(world.lab.pool(), LONG).await.unwrap_err().to_string();
        assert!(error.contains("the result is not kept: the value at `.` is read back"), "{error}");
        let kept = world.got.recv().await.unwrap();
        assert!(kept.contains("the value at `page` is not a number"), "{kept}");
    }
    world.worker.stop().await;
}

#[tokio::test]
async fn what_is_published_is_refused_as_well() {
    #[derive(Serialize, Deserialize)]
    struct Measured {
        celsius: f32,
    }
    impl Topic for Measured {
        const NAME: &'static str = "measured";
        const REDACT: &'static [&'static str] = &["celsius"];
    }
    let lab = Lab::new().await;
    assert_eq!(Measured { celsius: 20.1 }.publish(lab.pool()).await.unwrap(), []);
    let error = Measured { celsius: f32::NAN }.publish(lab.pool()).await.unwrap_err();
    assert!(matches!(error, EnqueueError::Encode { kind: "measured", .. }), "{error:?}");
    assert!(error.to_string().contains("at `celsius`: •••"), "{error}");
}
