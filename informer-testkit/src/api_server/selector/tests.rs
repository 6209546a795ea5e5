//! Tables of selectors. The refusals are those of a real server.

use serde_json::json;

use super::Selector;
use crate::api_server::resource::{Registry, Resource};
use crate::api_server::store::Object;
use std::sync::Arc;

fn resource(name: &str) -> Arc<Resource> {
    Arc::clone(Registry::new().named(name).unwrap())
}

fn object(resource: &Resource) -> Object {
    let value = json!({
        "metadata": {"name": "a", "namespace": "n", "labels": {"app": "web", "tier": "", "size": "10", "x.io/y": "z"}},
        "spec": {"nodeName": "node-1"}, "status": {"phase": "Running"},
    });
    let paths: Vec<_> = resource.selectable.iter().map(|(_, path)| path.clone()).collect();
    Object::new(value, 5, false, &paths)
}

#[test]
fn labels_select() {
    let pods = resource("pods");
    for (text, taken) in [
        ("", true),
        (" app = web ", true),
        ("app==web", true),
        ("app=db", false),
        ("app!=db", true),
        ("none!=db", true),
        ("app", true),
        ("none", false),
        ("!none", true),
        ("! app", false),
        ("app in (db,web)", true),
        ("app in (db)", false),
        ("none in (db)", false),
        ("app notin (db)", true),
        ("app notin (web)", false),
        ("none notin (web)", true),
        ("tier=", true),
        ("tier in ()", true),
        ("app in (,web)", true),
        ("size>9", true),
        ("size>10", false),
        ("size<11", true),
        ("app>1", false),
        ("x.io/y=z,app=web", true),
        ("x.io/y=z,app=db", false),
        ("in in (in),notin", false),
    ] {
        let selector =
            Selector::parse(&pods, Some(text), None).unwrap_or_else(|status| panic!("{text}: {status:?}"));
        assert_eq!(selector.matches(&object(&pods)), taken, "{text}");
    }
}

#[test]
fn fields_select() {
    let pods = resource("pods");
    for (text, taken) in [
        ("", true),
        ("metadata.name=a", true),
        ("metadata.name==b", false),
        ("metadata.name!=b", true),
        ("metadata.namespace=n,status.phase=Running", true),
        ("status.phase!=Running", false),
        ("spec.nodeName=node-1,", true),
        ("status.podIP=", true),
        ("spec.hostNetwork=false", true),
        (r"metadata.name=a\,b", false),
    ] {
        let selector =
            Selector::parse(&pods, None, Some(text)).unwrap_or_else(|status| panic!("{text}: {status:?}"));
        assert_eq!(selector.matches(&object(&pods)), taken, "{text}");
    }
}

#[test]
fn what_is_no_selector_is_refused_in_the_words_of_a_real_server() {
    let maps = resource("configmaps");
    for (labels, message) in [
        ("!!", "unable to parse requirement: found '!', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=!", "unable to parse requirement: found '!', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value \
             must be an integer",
        ),
    ] {
        let status = Selector::parse(&maps, Some(labels), None).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (400, message), "{labels}");
    }
    for (labels, beginning) in [
        ("-a=b", "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must"),
        ("a=-b", "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        (",", "found ',', expected: !, identifier"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
    ] {
        let status = Selector::parse(&maps, Some(labels), None).unwrap_err();
        assert!(status.message.starts_with(beginning), "{labels}: {}", status.message);
    }
    for (kind, fields, message) in [
        ("configmaps", "a", "invalid selector: 'a'; can't understand 'a'"),
        ("pods", "spec.foo=a", "field label not supported: spec.foo"),
        (
            "deployments.apps",
            "spec.foo=a",
            "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        ("events.events.k8s.io", "involvedObject.kind=a", "field label not supported: involvedObject.kind"),
    ] {
        let status = Selector::parse(&resource(kind), None, Some(fields)).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (400, message), "{fields}");
    }
}

#[test]
fn fields_of_events_are_the_same_in_both_groups() {
    for (kind, field) in [("events", "involvedObject.name"), ("events.events.k8s.io", "regarding.name")] {
        let events = resource(kind);
        let value = json!({"metadata": {"name": "e"}, "involvedObject": {"name": "web-0"}, "source": {"component": "c"}});
        let object = Object::new(value, 1, false, &Registry::new().selectable("events"));
        let selector = Selector::parse(&events, None, Some(&format!("{field}=web-0"))).unwrap();
        assert!(selector.matches(&object), "{kind}");
    }
}
