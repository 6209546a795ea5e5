//! What a list or a watch selects: labels and fields.

mod field;
mod label;

#[cfg(test)]
mod tests;

use super::resource::Resource;
use super::status::Result;
use super::store::Object;

/// Both selectors of a request, parsed.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    labels: Vec<label::Requirement>,
    fields: Vec<field::Requirement>,
}

impl Selector {
    /// Reads both parameters.
    pub(super) fn parse(resource: &Resource, labels: Option<&str>, fields: Option<&str>) -> Result<Self> {
        Ok(Selector {
            labels: label::parse(labels.unwrap_or_default())?,
            fields: field::parse(resource, fields.unwrap_or_default())?,
        })
    }

    /// Whether it takes everything.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it takes one object at most of a namespace, by its name.
    pub(super) fn names_one(&self) -> bool {
        self.fields.iter().any(field::Requirement::is_name)
    }

    /// Whether it takes this object.
    pub(super) fn matches(&self, object: &Object) -> bool {
        self.labels.iter().all(|requirement| requirement.holds(object))
            && self.fields.iter().all(|requirement| requirement.holds(object))
    }
}
