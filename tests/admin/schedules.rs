//! Schedules, made and changed with a form.

use axum::Router;
use axum::http::StatusCode;
use jobkit_admin::Permissions;

use crate::site::{Reply, VISITOR, dashboard, get, post};
use crate::world;

const NEW: &str = "name=a%2Fb&times=%40daily+Asia%2FTokyo&kind=send_receipt_01&concurrency_key=k\
    &queue=&args=&priority=-2&catch_up=all&max=3&window=60&overlap=skip_if_running&jitter=1.5";

async fn refused(app: &Router, path: &str, form: &str) -> Reply {
    let reply = post(app, path, form).await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{form}: {}", reply.body);
    reply
}

#[tokio::test]
async fn one_is_made_changed_and_deleted() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let form = get(&app, "/schedules/new").await.body;
    assert!(form.contains("<option>send_receipt_01</option>"), "{form}");
    let made = post(&app, "/schedules/create", NEW).await;
    assert_eq!(made.status, StatusCode::SEE_OTHER, "{}", made.body);
    assert_eq!(made.header("location"), "/schedules/schedule?name=a%2Fb");
    let stored = "select concat_ws(' ', times, kind, concurrency_key, priority, catch_up,
        catch_up_max, overlap, args, edited) from jobkit.schedules where name = 'a/b'";
    let said: String = lab.value(stored).await;
    let expected = "@daily Asia/Tokyo send_receipt_01 k -2 all 3 skip_if_running {}";
    assert!(said.starts_with(expected), "{said}");
    let again = refused(&app, "/schedules/create", NEW).await.body;
    assert!(again.contains("id=\"wrong-name\">A schedule of this name already exists."), "{again}");
    // As a deploy declares it: what the form does not change stays the code's.
    lab.run("update jobkit.schedules set edited = '{}' where name = 'a/b'").await;
    let change = get(&app, "/schedules/change?name=a%2Fb").await.body;
    assert!(change.contains("value=\"@daily Asia/Tokyo\""), "{change}");
    let changed = NEW.replace("daily", "weekly").replace("queue=", "queue=slow");
    let changed = changed.replace("priority=-2", "priority=1");
    let reply = post(&app, "/schedules/edit", &changed).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    let edited = "select concat_ws(' ', times, queue, priority, edited) from jobkit.schedules";
    let edited = format!("{edited} where name = 'a/b'");
    let now = "@weekly Asia/Tokyo slow 1 {job,queue,times}";
    assert_eq!(lab.value::<String>(&edited).await, now);
    post(&app, "/schedules/delete", "name=a%2Fb").await;
    for act in ["create", "edit", "delete"] {
        let acts = format!("jobkit.audit where actor = '{VISITOR}' and action = '{act}'");
        assert_eq!(lab.count(&acts).await, 1, "{act}");
    }
    assert_eq!(post(&app, "/schedules/edit", NEW).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_is_wrong_is_said_beside_its_field() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for (field, right, wrong, why) in [
        ("times", "%40daily+Asia%2FTokyo", "0+0+30+2+*", "never occurs"),
        ("args", "args=", "args=%7B", "This is not JSON"),
        ("priority", "priority=-2", "priority=4", "from −3 to 3"),
        ("max", "max=3", "max=0", "from 1 to 1000"),
        ("window", "window=60", "window=soon", "a number of seconds"),
        ("jitter", "jitter=1.5", "jitter=", "a number of seconds"),
        ("name", "a%2Fb", "", "This is required."),
    ] {
        let body = refused(&app, "/schedules/create", &NEW.replace(right, wrong)).await.body;
        let (_, said) = body.split_once(&format!("id=\"wrong-{field}\">")).expect(field);
        assert!(said.split('<').next().unwrap().contains(why), "{field}: {said}");
        assert!(body.contains(&format!("aria-describedby=\"wrong-{field}\"")), "{field}");
        assert_eq!(body.matches("id=\"wrong-").count(), 1, "{field}");
    }
    // What only the database knows is said of the whole.
    let keyless = NEW.replace("concurrency_key=k", "concurrency_key=");
    let body = refused(&app, "/schedules/create", &keyless).await.body;
    assert!(body.contains("need a concurrency key."), "{body}");
    assert_eq!(lab.count("jobkit.schedules where name = 'a/b'").await, 0);
}

#[tokio::test]
async fn a_preview_shows_the_next_instants_and_makes_nothing() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let reply = post(&app, "/schedules/create", &format!("{NEW}&preview=1")).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.body.matches(" 15:00:00 UTC").count(), 5, "{}", reply.body);
    assert!(reply.body.contains("value=\"1.5\""), "{}", reply.body);
    assert_eq!(lab.count("jobkit.schedules where name = 'a/b'").await, 0);
}

#[tokio::test]
async fn whoever_may_not_sees_no_form() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::operator());
    assert_eq!(get(&app, "/schedules/new").await.status, StatusCode::NOT_FOUND);
    assert_eq!(post(&app, "/schedules/create", NEW).await.status, StatusCode::NOT_FOUND);
    assert!(!get(&app, "/schedules").await.body.contains("New schedule"));
}
