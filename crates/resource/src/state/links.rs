//! What can be said of the documents of state files together, without the gateway: values that only one of them may have,
//! and references that lead to none of them.

use std::collections::HashMap;

use weir_policy::{MAX_ERRORS, PolicyError, nearest};

use super::State;
use crate::{Checked, Fault, ResourceKind};

/// A document and what it was checked to.
type Document<'s> = (ResourceKind, &'s str, Checked);

impl State {
    /// Values that several documents have and only one may have.
    #[must_use]
    pub fn clashes(&self) -> Vec<PolicyError> {
        let documents = self.checked();
        let mut owners: HashMap<(ResourceKind, &str), &str> = HashMap::new();
        let mut told = Vec::new();
        let mut errors = Vec::new();
        for (kind, id, checked) in &documents {
            for unique in &checked.unique {
                let first = *owners.entry((*kind, &unique.key)).or_insert(id);
                // Two routes that share all their methods are one fault, not one for each.
                if first == *id || told.contains(&(first, *id, &unique.pointer)) || errors.len() >= MAX_ERRORS {
                    continue;
                }
                told.push((first, id, &unique.pointer));
                let message = format!("{} is in {} `{first}` already", unique.what, kind.singular());
                let fault = Fault { pointer: unique.pointer.clone(), message, ..Fault::default() };
                errors.extend(self.error(*kind, id, &fault));
            }
        }
        errors
    }

    /// References to resources that are in none of the files; the gateway may have them.
    #[must_use]
    pub fn foreign_references(&self) -> Vec<PolicyError> {
        let mut warnings = Vec::new();
        for (kind, id, checked) in self.checked() {
            for reference in checked.references {
                let named = (reference.kind, reference.id);
                if self.documents.contains_key(&named) || warnings.len() >= MAX_ERRORS {
                    continue;
                }
                let (what, name) = (named.0.singular(), named.1);
                let known = self.documents.keys().filter(|key| key.0 == named.0).map(|key| key.1.as_str());
                let hint = match nearest(&name, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`weir apply --dry-run` tells whether the gateway has it".to_owned(),
                };
                let message = format!("there is no {what} `{name}` in what is checked");
                let fault = Fault { pointer: reference.pointer, message, hint: Some(hint), ..Fault::default() };
                warnings.extend(self.error(kind, id, &fault));
            }
        }
        warnings
    }

    /// The documents, checked once more: each as JSON, in which pointers are those of the API.
    fn checked(&self) -> Vec<Document<'_>> {
        let documents = self.documents.iter();
        let checked = documents.filter_map(|((kind, id), document)| {
            Some((*kind, id.as_str(), crate::check(*kind, id, document.to_string().as_bytes()).ok()?))
        });
        checked.collect()
    }
}
