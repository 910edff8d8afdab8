//! Who may do what: every route, with and without what it needs.

use axum::http::StatusCode;
use axum::http::request::Parts;
use jobkit::Admin;
use jobkit_admin::{Access, Dashboard, Permission, Permissions, Route, routes};
use jobkit_tests::{Lab, Roles};

use crate::crawler::crawl;
use crate::site::{self, Reply, ask, dashboard, filled, get, post};
use crate::world;

/// A path of the table that leads to something. Each call takes another id, since some of what is
/// asked for removes it.
async fn existing(lab: &Lab, route: &Route) -> String {
    static TAKEN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let taken = TAKEN.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 20;
    let (id, table, such) = match route.path {
        path if path.contains("/workers/") => return filled(path, "1f"),
        path if path.contains("/batches/{id}") => ("id", "batches", "ended_at is null"),
        path if path.contains("/operations/{id}") => ("id", "operations", "true"),
        path if path.contains("/jobs/") => ("job_id", "scheduled", "true"),
        path if path.contains("/dead") => ("id", "dead_letters", "state = 'open'"),
        path => return filled(path, "0") + "?group=g&queue=q&kind=k&verb=replay",
    };
    let sql = format!("select {id} from jobkit.{table} where {such} order by {id} offset {taken}");
    let id: i64 = lab.value(&format!("{sql} limit 1")).await;
    filled(route.path, &id.to_string())
}

/// Asks for a route as its callers do.
async fn call(app: &axum::Router, route: &Route, path: &str) -> Reply {
    match (route.method, route.path.starts_with("/api/")) {
        ("GET", _) => get(app, path).await,
        (_, true) => site::send(app, path, "").await,
        _ => post(app, path, "").await,
    }
}

#[tokio::test]
async fn every_route_is_closed_without_its_permission_and_open_with_it() {
    let lab = world::ordinary().await;
    let admin = dashboard(&lab, Permissions::admin());
    let mut asked = 0;
    for route in routes() {
        let Some(needed) = route.permission else { continue };
        let path = existing(&lab, &route).await;
        let others = dashboard(&lab, Permissions::admin().without(needed));
        let reply = call(&others, &route, &path).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{route:?} without {needed}");
        let reply = call(&admin, &route, &path).await;
        assert_ne!(reply.status, StatusCode::NOT_FOUND, "{route:?} with everything");
        assert!(!reply.status.is_server_error(), "{route:?}: {}", reply.body);
        asked += 1;
    }
    assert!(asked > 40, "{asked} routes");
}

#[tokio::test]
async fn every_permission_opens_only_its_own_routes() {
    let lab = world::ordinary().await;
    for permission in Permission::ALL {
        let app = dashboard(&lab, Permissions::none().with(permission));
        for route in routes().filter(|route| route.permission.is_some()) {
            if route.permission != Some(permission) {
                let path = existing(&lab, &route).await;
                let reply = call(&app, &route, &path).await;
                assert_eq!(reply.status, StatusCode::NOT_FOUND, "{route:?} with {permission}");
            }
        }
    }
}

#[tokio::test]
async fn only_routes_that_say_nothing_ask_nobody() {
    let open: Vec<_> = routes().filter(|route| route.permission.is_none()).collect();
    let paths: Vec<_> = open.iter().map(|route| (route.method, route.path)).collect();
    assert_eq!(paths, [("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/assets/{file}")]);
}

#[tokio::test]
async fn every_change_needs_a_permission_to_change_and_a_post() {
    // Theme and refresh are the visitor's own.
    // Looking at what an operation would do, or at a form, changes nothing.
    let forms = ["/operations/new", "/schedules/new", "/schedules/change"];
    let exempt = [&["/theme", "/refresh"], &forms[..]].concat();
    for route in routes().filter(|route| !exempt.contains(&route.path)) {
        let changes = route.permission.is_some_and(|permission| !permission.is_reading());
        assert_eq!(changes, route.method == "POST", "{route:?}");
    }
}

#[tokio::test]
async fn a_read_only_dashboard_changes_nothing_whatever_the_hook_says() {
    let lab = world::ordinary().await;
    let admin = Admin::new(lab.pool());
    let app = site::dashboard_of(admin, Permissions::admin()).read_only().into_router();
    let own = ["/theme", "/refresh"];
    for route in routes().filter(|route| route.method == "POST" && !own.contains(&route.path)) {
        let path = existing(&lab, &route).await;
        let reply = call(&app, &route, &path).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{route:?}");
    }
    assert_eq!(get(&app, "/dead").await.status, StatusCode::OK);
}

/// A page without what differs because the path does.
fn without(reply: &Reply, path: &str) -> (StatusCode, String) {
    (reply.status, reply.body.replace(path, "/…"))
}

#[tokio::test]
async fn the_unknown_and_the_forbidden_look_the_same() {
    let lab = world::ordinary().await;
    let job: i64 = lab.value("select min(job_id) from jobkit.scheduled").await;
    let viewer = dashboard(&lab, Permissions::viewer());
    let paths = [format!("/jobs/{job}/cancel"), "/jobs/404404/cancel".into(), "/no/such".into()];
    let mut seen = Vec::new();
    for path in &paths {
        seen.push(without(&post(&viewer, path, "").await, path));
    }
    let api = [format!("/api/v1/jobs/{job}/cancel"), "/api/v1/jobs/404404/cancel".into()];
    let mut problems = Vec::new();
    for path in &api {
        problems.push(without(&site::send(&viewer, path, "").await, path));
    }
    assert_eq!(seen[0].0, StatusCode::NOT_FOUND);
    assert!(seen.iter().all(|page| *page == seen[0]), "{seen:#?}");
    assert_eq!(problems[0], problems[1]);

    let operator = dashboard(&lab, Permissions::operator());
    for path in ["/jobs/404404", "/jobs/none", "/jobs/-404", "/dead/404404", "/workers/zz"] {
        let unknown = without(&get(&operator, path).await, path);
        let nothing = without(&get(&operator, "/no/such").await, "/no/such");
        assert_eq!(unknown, nothing, "{path}");
    }
}

#[tokio::test]
async fn what_the_hook_answers_is_the_answer() {
    let lab = Lab::new().await;
    let hook = |request: Parts| async move {
        match request.headers.get("x-user") {
            Some(_) => Ok(Access::new("bob", Permissions::viewer())),
            None => Err((StatusCode::UNAUTHORIZED, "who are you?")),
        }
    };
    let app = Dashboard::new(Admin::new(lab.pool())).access(hook).into_router();
    for path in ["/", "/dead", "/no/such", "/api/v1/queues", "/metrics", "/events"] {
        let reply = get(&app, path).await;
        assert_eq!((reply.status, &*reply.body), (StatusCode::UNAUTHORIZED, "who are you?"));
        assert_eq!(reply.header("x-frame-options"), "DENY");
    }
    let reply = ask(&app, "GET", "/", &[("x-user", "bob")], "").await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(!reply.body.contains("Audit"), "the viewer sees no link to what is closed");
}

#[tokio::test]
async fn payloads_are_seen_only_with_the_permission() {
    let lab = Lab::new().await;
    world::fill(&lab, &["kind_a"]).await;
    lab.run("update jobkit.dead_letters set args = '{\"card\": \"4711-0815\"}'").await;
    let id: i64 = lab.value("select min(id) from jobkit.dead_letters").await;
    let paths =
        [format!("/dead/{id}"), format!("/api/v1/dead-letters/{id}"), "/dead/export".into()];
    let hidden = dashboard(&lab, Permissions::admin().without(Permission::Payloads));
    let shown = dashboard(&lab, Permissions::admin());
    for path in paths {
        assert!(!get(&hidden, &path).await.body.contains("4711-0815"), "{path}");
        assert!(get(&shown, &path).await.body.contains("4711-0815"), "{path}");
    }
}

/// Whatever a page would show, the server refuses payloads to this role of the database.
#[tokio::test]
async fn every_page_answers_a_viewer_of_the_database_and_has_no_payload() {
    let roles = Roles::new(world::ordinary().await).await;
    let canary = "'{\"card\": \"4711-0815\"}'";
    for table in ["jobs", "dead_letters", "finished"] {
        roles.lab.run(&format!("update jobkit.{table} set args = {canary}")).await;
    }
    let pool = roles.pool("viewer");
    let app = site::dashboard_of(Admin::new(&pool), Permissions::admin()).into_router();
    let crawled = crawl(&app, "/", 150).await;
    assert!(crawled.pages.len() > 100, "{}", crawled.pages.len());
    assert!(crawled.pages.iter().any(|(url, _)| url.contains("/jobs/")));
    for (url, page) in &crawled.pages {
        assert!(!page.contains("4711-0815"), "{url}: {page}");
    }
    let job: i64 = roles.lab.value("select min(job_id) from jobkit.scheduled").await;
    for path in ["/metrics", "/api/v1/jobs", "/api/v1/dead-letters", &format!("/api/v1/jobs/{job}")]
    {
        let reply = get(&app, path).await;
        assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.body);
        assert!(!reply.body.contains("4711-0815"), "{path}: {}", reply.body);
    }
    let paused = "jobkit.limits where paused_at is not null";
    let before = roles.lab.count(paused).await;
    let reply = post(&app, "/limits/pause", "scope=queue&name=another&reason=").await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN);
    assert!(reply.body.contains("The database does not allow that"), "{}", reply.body);
    assert_eq!(roles.lab.count(paused).await, before);
    pool.close().await;
    roles.end().await;
}
