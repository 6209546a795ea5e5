//! JSON patches (RFC 6902), bounded: operations build on each other, so a few of them could make an object that is
//! deeper than any stack or bigger than any memory.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use crate::api_server::body::{DEEPEST, depth};
use crate::api_server::status::{Result, Status};

/// How many operations a patch may have; the limit of a real server.
const OPERATIONS: usize = 10_000;

/// How many bytes copies may add.
const COPIED: usize = 3 << 20;

/// Reads a patch.
pub(super) fn read(body: &[u8]) -> Result<Patch> {
    let mut value: Value =
        serde_json::from_slice(body).map_err(|_| Status::bad_request("invalid JSON patch"))?;
    let Value::Array(operations) = &mut value else {
        return Err(Status::bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ));
    };
    if operations.len() > OPERATIONS {
        let why = format!(
            "The allowed maximum operations in a JSON patch is {OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", why));
    }
    for operation in operations.iter_mut().filter_map(Value::as_object_mut) {
        // Not to say a value is to say null.
        if operation.get("op").is_some_and(|op| op == "add" || op == "replace" || op == "test") {
            operation.entry("value").or_insert(Value::Null);
        }
    }
    serde_json::from_value(value).map_err(|_| Status::unfit_patch())
}

/// Applies a patch, or refuses it and leaves `value` somewhere on the way.
pub(super) fn apply(patch: &Patch, value: &mut Value) -> Result<()> {
    let mut copied = 0;
    for operation in &patch.0 {
        let (path, inserted) = match operation {
            PatchOperation::Add(add) => (Some(add.path.as_str()), depth(&add.value)),
            PatchOperation::Replace(replace) => (Some(replace.path.as_str()), depth(&replace.value)),
            PatchOperation::Copy(copy) => {
                let source = value.pointer(copy.from.as_str()).ok_or_else(Status::unfit_patch)?;
                copied += source.to_string().len();
                (Some(copy.path.as_str()), depth(source))
            }
            PatchOperation::Move(moved) => {
                let source = value.pointer(moved.from.as_str()).ok_or_else(Status::unfit_patch)?;
                (Some(moved.path.as_str()), depth(source))
            }
            PatchOperation::Remove(_) | PatchOperation::Test(_) => (None, 0),
        };
        let deep = path.map_or(0, |path| path.matches('/').count()) + inserted;
        if deep > DEEPEST || copied > COPIED {
            return Err(Status::unfit_patch());
        }
        apply_one(operation, value)?;
    }
    Ok(())
}

fn apply_one(operation: &PatchOperation, value: &mut Value) -> Result<()> {
    if let PatchOperation::Replace(replace) = operation
        && let Some((parent, name)) = replace.path.split_back()
        && let Some(Value::Object(map)) = value.pointer_mut(parent.as_str())
    {
        // A field of an object need not be there to be replaced, though the RFC wants it to be.
        map.insert(name.decoded().into_owned(), replace.value.clone());
        return Ok(());
    }
    json_patch::patch(value, std::slice::from_ref(operation)).map_err(|_| Status::unfit_patch())
}
