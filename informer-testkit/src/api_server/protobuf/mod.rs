//! Bodies in protobuf, which kubectl's `create` and Go's typed clients send for built-in kinds: read as the JSON that
//! they stand for.
//!
//! Answers are always JSON, which those clients accept too. Only what is in the tables of [`messages`] is understood; an object
//! with more in it is refused and not stored without it.

mod messages;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};

use super::exchange::Call;
use super::status::{Result, Status};
use messages::Field;
use messages::Is::{
    BytesMap, Flag, IntOrString, Many, Number, One, Pointer, Quantity, Text, TextMap, Texts, Time,
};

const MEDIA: &str = "application/vnd.kubernetes.protobuf";

/// What comes before every object.
const MAGIC: &[u8] = b"k8s\0";

/// Turns a call with a body in protobuf into the same call with a body in JSON.
///
/// # Errors
/// 415 for what is not understood.
pub(super) fn translate(call: &mut Call) -> Result<()> {
    let is =
        |value: &str| value.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case(MEDIA));
    if !call.header("content-type").is_some_and(is) {
        return Ok(());
    }
    let object = object(&call.body).map_err(|why| {
        let message = format!("this protobuf is not understood here, send JSON instead: {why}");
        Status::new(415, "UnsupportedMediaType", message)
    })?;
    call.body = object.to_string().into_bytes();
    call.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    call.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    Ok(())
}

type Outcome<T> = std::result::Result<T, String>;

/// An object in its envelope.
fn object(body: &[u8]) -> Outcome<Value> {
    let envelope = body.strip_prefix(MAGIC).ok_or("it does not begin with k8s")?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for (number, value) in entries(envelope)? {
        match (number, value) {
            (1, Wire::Bytes(types)) => {
                for (number, value) in entries(types)? {
                    match (number, value) {
                        (1, Wire::Bytes(bytes)) => version = text(bytes)?,
                        (2, Wire::Bytes(bytes)) => kind = text(bytes)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let fields = messages::of(&version, &kind).ok_or_else(|| format!("its kind is {kind:?}"))?;
    let mut object = read(raw, fields, &kind)?;
    object.insert("kind".to_owned(), kind.into());
    object.insert("apiVersion".to_owned(), version.into());
    Ok(Value::Object(object))
}

fn read(bytes: &[u8], fields: &[Field], place: &str) -> Outcome<Map<String, Value>> {
    let mut object = Map::new();
    for (number, value) in entries(bytes)? {
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            // Go sends what is empty too.
            if value.is_empty() {
                continue;
            }
            return Err(format!("it has a field {number} in {place}"));
        };
        let name = field.name;
        let many = |object: &mut Map<String, Value>, value: Value| {
            let list = object.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(value);
            }
        };
        match (field.is, value) {
            (Text, Wire::Bytes([])) => {}
            (Text, Wire::Bytes(bytes)) => drop(object.insert(name.to_owned(), text(bytes)?.into())),
            (Texts, Wire::Bytes(bytes)) => many(&mut object, text(bytes)?.into()),
            (Number, Wire::Number(0)) | (Flag, Wire::Number(0)) => {}
            (Number | Pointer, Wire::Number(number)) => {
                // The bits of a signed number.
                drop(object.insert(name.to_owned(), number.cast_signed().into()));
            }
            (Flag, Wire::Number(_)) => drop(object.insert(name.to_owned(), true.into())),
            (Time, Wire::Bytes(bytes)) => {
                if let Some(time) = time(bytes)? {
                    object.insert(name.to_owned(), time);
                }
            }
            (IntOrString, Wire::Bytes(bytes)) => drop(object.insert(name.to_owned(), int_or_string(bytes)?)),
            (TextMap | BytesMap, Wire::Bytes(bytes)) => {
                let (key, value) = pair(bytes)?;
                let value = if matches!(field.is, BytesMap) { STANDARD.encode(value) } else { text(value)? };
                let map = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(map) = map {
                    map.insert(key, value.into());
                }
            }
            (Quantity, Wire::Bytes(bytes)) => {
                if let Some((1, Wire::Bytes(number))) = entries(bytes)?.into_iter().next() {
                    object.insert(name.to_owned(), text(number)?.into());
                }
            }
            (One(fields), Wire::Bytes(bytes)) => {
                object.insert(name.to_owned(), Value::Object(read(bytes, fields, name)?));
            }
            (Many(fields), Wire::Bytes(bytes)) => {
                many(&mut object, Value::Object(read(bytes, fields, name)?));
            }
            _ => return Err(format!("{place}.{name} is of another type")),
        }
    }
    Ok(object)
}

/// The value of a field as it is on the wire.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Wire<'_> {
    fn is_empty(&self) -> bool {
        matches!(self, Wire::Number(0) | Wire::Bytes([]))
    }
}

/// The fields of a message, by number.
fn entries(mut bytes: &[u8]) -> Outcome<Vec<(u64, Wire<'_>)>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).map_err(|_| ENDS)?;
                let (value, rest) = bytes.split_at_checked(length).ok_or(ENDS)?;
                bytes = rest;
                Wire::Bytes(value)
            }
            other => return Err(format!("it has a value of wire type {other}")),
        };
        entries.push((tag >> 3, value));
    }
    Ok(entries)
}

const ENDS: &str = "it ends early";

fn varint(bytes: &mut &[u8]) -> Outcome<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(ENDS)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("it has a number of more than 64 bits".to_owned())
}

fn text(bytes: &[u8]) -> Outcome<String> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "it has a text that is not UTF-8".to_owned())
}

fn pair(bytes: &[u8]) -> Outcome<(String, &[u8])> {
    let (mut key, mut value) = (String::new(), &[][..]);
    for entry in entries(bytes)? {
        match entry {
            (1, Wire::Bytes(bytes)) => key = text(bytes)?,
            (2, Wire::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    Ok((key, value))
}

/// `None` for no time at all.
fn time(bytes: &[u8]) -> Outcome<Option<Value>> {
    let seconds = entries(bytes)?.into_iter().find_map(|entry| match entry {
        (1, Wire::Number(seconds)) => Some(seconds.cast_signed()),
        _ => None,
    });
    let Some(seconds) = seconds else { return Ok(None) };
    let time = Timestamp::from_second(seconds).map_err(|_| "it has a time that cannot be")?;
    Ok(Some(time.to_string().into()))
}

fn int_or_string(bytes: &[u8]) -> Outcome<Value> {
    let (mut is_text, mut number, mut string) = (false, 0, String::new());
    for entry in entries(bytes)? {
        match entry {
            (1, Wire::Number(kind)) => is_text = kind == 1,
            (2, Wire::Number(value)) => number = value.cast_signed(),
            (3, Wire::Bytes(bytes)) => string = text(bytes)?,
            _ => {}
        }
    }
    Ok(if is_text { string.into() } else { number.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(field: u8, value: u8) -> Vec<u8> {
        vec![field << 3, value]
    }

    fn bytes(field: u8, value: &[u8]) -> Vec<u8> {
        [&[field << 3 | 2, u8::try_from(value.len()).unwrap()], value].concat()
    }

    fn enveloped(kind: &str, raw: &[u8]) -> Vec<u8> {
        let types = [bytes(1, b"v1"), bytes(2, kind.as_bytes())].concat();
        [MAGIC, &bytes(1, &types), &bytes(2, raw), &bytes(3, b""), &bytes(4, b"")].concat()
    }

    #[test]
    fn objects_are_read_as_the_json_they_stand_for() {
        // As Go sends it: what is empty is there too.
        let meta =
            [bytes(1, b"a"), bytes(2, b""), bytes(3, b"ns"), bytes(4, b""), bytes(5, b""), bytes(8, b"")];
        let label = [bytes(1, b"k"), bytes(2, b"v")].concat();
        let meta = [meta.concat(), bytes(11, &label), number(7, 0)].concat();
        let secret = [bytes(1, &meta), bytes(2, &label), bytes(3, b"Opaque")].concat();
        let want = json!({
            "kind": "Secret", "apiVersion": "v1", "type": "Opaque", "data": { "k": "dg==" },
            "metadata": { "name": "a", "namespace": "ns", "labels": { "k": "v" } },
        });
        assert_eq!(object(&enveloped("Secret", &secret)).unwrap(), want);
        let target = [number(1, 1), number(2, 0), bytes(3, b"http")].concat();
        let port = [bytes(1, b""), number(3, 80), bytes(4, &target)].concat();
        let service = bytes(2, &bytes(1, &port));
        let service = object(&enveloped("Service", &service)).unwrap();
        assert_eq!(service["spec"]["ports"], json!([{ "port": 80, "targetPort": "http" }]));
        let spec = [number(1, 0), number(5, 0)].concat();
        let deployment = object(&enveloped("Deployment", &bytes(2, &spec))).unwrap();
        assert_eq!(deployment["spec"], json!({ "replicas": 0 }));
    }

    #[test]
    fn a_version_and_a_quantity_are_told_apart_from_a_number() {
        let of = |version: &[u8], raw: &[u8]| {
            let types = [bytes(1, version), bytes(2, b"HorizontalPodAutoscaler")].concat();
            object(&[MAGIC, &bytes(1, &types), &bytes(2, raw)].concat())
        };
        let old = bytes(2, &[number(3, 9), number(4, 50)].concat());
        let spec = json!({ "maxReplicas": 9, "targetCPUUtilizationPercentage": 50 });
        assert_eq!(of(b"autoscaling/v1", &old).unwrap()["spec"], spec);
        assert!(of(b"autoscaling/v2", &old).is_err(), "there it is a list");
        let target = [bytes(1, b"AverageValue"), bytes(3, &bytes(1, b"1Gi"))].concat();
        let resource = [bytes(1, b"memory"), bytes(2, &target)].concat();
        let metric = [bytes(1, b"Resource"), bytes(4, &resource)].concat();
        let told = of(b"autoscaling/v2", &bytes(2, &bytes(4, &metric))).unwrap();
        let target = json!({ "type": "AverageValue", "averageValue": "1Gi" });
        assert_eq!(told["spec"]["metrics"][0]["resource"], json!({ "name": "memory", "target": target }));
    }

    #[test]
    fn a_review_is_read_with_the_empty_status_that_go_sends() {
        let attributes = [bytes(1, b"ns"), bytes(2, b"get"), bytes(5, b"pods"), bytes(6, b"")].concat();
        let raw =
            [bytes(1, &bytes(8, b"")), bytes(2, &bytes(1, &attributes)), bytes(3, &number(1, 0))].concat();
        let told = object(&enveloped("SelfSubjectAccessReview", &raw)).unwrap();
        let asked = json!({ "namespace": "ns", "verb": "get", "resource": "pods" });
        assert_eq!(told["spec"]["resourceAttributes"], asked);
        assert_eq!(told["status"], json!({}));
    }

    #[test]
    fn what_would_be_lost_is_refused() {
        let unknown = bytes(2, &bytes(99 >> 3, b"x"));
        let why = object(&enveloped("Deployment", &unknown)).unwrap_err();
        assert_eq!(why, "it has a field 12 in spec");
        assert_eq!(object(&enveloped("Lease", b"")).unwrap_err(), "its kind is \"Lease\"");
        assert!(object(b"{}").is_err());
    }

    #[test]
    fn no_bytes_are_too_odd() {
        let good =
            enveloped("Secret", &[bytes(1, &bytes(1, b"a")), bytes(2, &[bytes(1, b"k")].concat())].concat());
        for cut in 0..good.len() {
            let _ = object(&good[..cut]);
            for byte in [0, 0x7f, 0x80, 0xff] {
                let mut odd = good.clone();
                odd[cut] = byte;
                let _ = object(&odd);
            }
        }
        let endless = [MAGIC, &[0xff; 20]].concat();
        assert!(object(&endless).unwrap_err().contains("64 bits"));
    }
}
