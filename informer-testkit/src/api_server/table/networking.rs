//! The cells of what leads to Pods: endpoints, ingresses, policies.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::read::*;

/// How many of many a cell tells of.
const TOLD: usize = 3;

/// The first few, and how many more there are.
fn first_few(all: &[String], none: &str) -> String {
    if all.is_empty() {
        return none.to_owned();
    }
    let told = all.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join(",");
    match all.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told} + {more} more..."),
    }
}

pub(super) fn endpoints(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = Vec::new();
    for subset in list(object, "/subsets") {
        let addresses = || {
            list(subset, "/addresses").iter().map(|address| match at(address, "/ip") {
                ip if ip.contains(':') => format!("[{ip}]"),
                ip => ip.to_owned(),
            })
        };
        let ports = list(subset, "/ports");
        if ports.is_empty() {
            all.extend(list(subset, "/addresses").iter().map(|address| at(address, "/ip").to_owned()));
        }
        for port in ports {
            all.extend(addresses().map(|host| format!("{host}:{}", number_at(port, "/port"))));
        }
    }
    vec![name(object), json!(first_few(&all, "<none>")), age_of(object, now)]
}

pub(super) fn endpoint_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    let ports: Vec<String> =
        list(object, "/ports").iter().map(|port| number_at(port, "/port").to_string()).collect();
    let addresses: Vec<String> = list(object, "/endpoints")
        .iter()
        .flat_map(|endpoint| list(endpoint, "/addresses"))
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    vec![
        name(object),
        json!(at(object, "/addressType")),
        json!(first_few(&ports, "<unset>")),
        json!(first_few(&addresses, "<unset>")),
        age_of(object, now),
    ]
}

pub(super) fn ingress(object: &Value, now: Timestamp) -> Vec<Value> {
    let hosts: Vec<String> = list(object, "/spec/rules")
        .iter()
        .map(|rule| at(rule, "/host").to_owned())
        .filter(|host| !host.is_empty())
        .collect();
    let balancers = list(object, "/status/loadBalancer/ingress").iter();
    let addresses = joined(balancers.map(|ingress| at_or(ingress, "/ip", at(ingress, "/hostname"))), "");
    let ports = if list(object, "/spec/tls").is_empty() { "80" } else { "80, 443" };
    vec![
        name(object),
        json!(at_or(object, "/spec/ingressClassName", "<none>")),
        json!(first_few(&hosts, "*")),
        json!(addresses),
        json!(ports),
        age_of(object, now),
    ]
}

pub(super) fn ingress_class(object: &Value, now: Timestamp) -> Vec<Value> {
    let parameters = match object.pointer("/spec/parameters") {
        None | Some(Value::Null) => "<none>".to_owned(),
        Some(parameters) => {
            let group = at(parameters, "/apiGroup");
            let dot = if group.is_empty() { "" } else { "." };
            format!("{}{dot}{group}/{}", at(parameters, "/kind"), at(parameters, "/name"))
        }
    };
    vec![name(object), json!(at(object, "/spec/controller")), json!(parameters), age_of(object, now)]
}

pub(super) fn network_policy(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(selector(object.pointer("/spec/podSelector"))), age_of(object, now)]
}
