//! A servant without stubs that calls another object without stubs, transparently for its callers.

use std::path::Path;

use oxorb::Ref;
use oxorb_dynamic::{DynamicServant, Exception, Invocation, Results, Signature, invoke, send};
use oxorb_ifr::types::{Interface, Types};

/// Servant that passes every request on to an object of the same interface.
pub(crate) struct Gateway {
    interface: Interface,
    target: Ref,
}

impl Gateway {
    /// Creates a gateway with the types of a file in `idl`.
    pub(crate) fn new(file: &str, interface: &str, target: &Ref) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("idl");
        let compiled = oxorb_idl::compile(&[folder.join(file)], &Default::default()).unwrap();
        Gateway {
            interface: Types::new(compiled.model).interface(interface).unwrap(),
            target: target.clone(),
        }
    }
}

impl DynamicServant for Gateway {
    fn repository_id(&self) -> &str {
        &self.interface.repository_id
    }

    fn is_a(&self, id: &str) -> bool {
        self.interface.is_a(id)
    }

    fn signature(&self, operation: &str) -> Option<&Signature> {
        self.interface.signature(operation)
    }

    fn invoke(&self, request: Invocation<'_>) -> Result<Results, Exception> {
        assert_eq!(request.expects_reply, !request.signature.oneway);
        if request.signature.oneway {
            send(&self.target, request.signature, &request.args, &request.context)?;
            return Ok(Results::default());
        }
        invoke(&self.target, request.signature, &request.args, &request.context)
    }
}
