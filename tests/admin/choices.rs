//! What a visitor chooses for a browser, and an installation for all of them.

use axum::http::StatusCode;
use jobkit::Admin;
use jobkit_admin::{Accent, Permissions};

use crate::site::{ask, dashboard, dashboard_of, get, post};
use crate::world;

#[tokio::test]
async fn how_often_pages_ask_again_is_kept() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::viewer());
    let page = get(&app, "/dead").await.body;
    assert!(page.contains("data-refresh=\"5\" hx-sse:connect=\"/events\""), "{page}");
    for (name, kept) in [("30", "30"), ("off", "off"), ("5", "5"), ("1", "5"), ("", "5")] {
        let reply = post(&app, "/refresh", &format!("refresh={name}&back=/dead")).await;
        assert_eq!((reply.status, reply.header("location")), (StatusCode::SEE_OTHER, "/dead"));
        let cookie = reply.header("set-cookie").split(';').next().unwrap();
        assert_eq!(cookie, format!("jobkit-refresh={kept}"));
        let page = ask(&app, "GET", "/dead", &[("cookie", cookie)], "").await.body;
        assert!(page.contains(&format!("data-refresh=\"{kept}\"")), "{page}");
        let pressed = format!("value=\"{kept}\" aria-pressed=\"true\"");
        assert!(page.contains(&pressed) && page.matches("aria-pressed=\"true\"").count() == 1);
        assert_eq!(page.contains("hx-sse:connect"), kept == "5", "{name}");
    }
    let nothing = post(&app, "/refresh", "").await;
    assert_eq!(nothing.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn an_installation_has_its_name_and_colour_on_every_page() {
    let lab = world::ordinary().await;
    let plain = get(&dashboard(&lab, Permissions::viewer()), "/").await.body;
    assert!(plain.contains("<div class=\"lid blue\">") && !plain.contains("class=\"badge\""));
    for accent in Accent::ALL {
        let app = dashboard_of(Admin::new(lab.pool()), Permissions::viewer());
        let app = app.instance("<production>").accent(accent).into_router();
        for path in ["/", "/jobs", "/no/such"] {
            let page = get(&app, path).await.body;
            assert!(page.contains(&format!("<div class=\"lid {}\">", accent.as_str())), "{path}");
            assert!(page.contains("<span class=\"badge\">&#60;production&#62;</span>"), "{page}");
            let title = page.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
            assert!(title.ends_with(" · &#60;production&#62;"), "{title}");
        }
    }
}
