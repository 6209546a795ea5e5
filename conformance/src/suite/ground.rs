//! [`Ground`]: what one case stands on: a cluster, a client of someone who may do everything, a namespace of its own.

use std::collections::BTreeMap;

use informer_core::kube_core::params::{DeleteParams, PostParams};
use informer_core::{InformerBuilder, Object, Result, SharedInformer};
use informer_factory::{Api, Client, HttpListWatch};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::cluster::{Ability, Memory, TestCluster};
use super::tap::TapHandle;
use super::watched::PATIENCE;

/// See the module. The namespace goes with it.
pub(crate) struct Ground<'a> {
    pub(crate) cluster: &'a mut dyn TestCluster,
    pub(crate) client: Client,
    /// Unique in the cluster, so it serves as a name for things without a namespace too.
    pub(crate) namespace: String,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(cluster: &'a mut dyn TestCluster, namespace: String) -> Result<Self> {
        let ground = Ground { client: cluster.admin()?, cluster, namespace };
        ground.make_namespace()?;
        Ok(ground)
    }

    fn make_namespace(&self) -> Result<()> {
        let metadata = ObjectMeta { name: Some(self.namespace.clone()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        Api::<Namespace>::all(&self.client).create(&PostParams::default(), &namespace).map(|_| ())
    }

    /// Ends the server and starts it again; the namespace is there afterwards.
    pub(crate) fn restart(&mut self, memory: Memory) -> Result<()> {
        self.cluster.restart(memory)?;
        self.client = self.cluster.admin()?;
        match memory {
            Memory::Kept => Ok(()),
            Memory::Lost => self.make_namespace(),
        }
    }

    pub(crate) fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(&self.client, &self.namespace)
    }

    /// A ConfigMap of this namespace, not created yet.
    pub(crate) fn config_map(&self, name: &str, value: &str) -> ConfigMap {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.namespace.clone()),
            ..ObjectMeta::default()
        };
        let data = BTreeMap::from([("value".to_owned(), value.to_owned())]);
        ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
    }

    /// Creates a ConfigMap.
    pub(crate) fn create(&self, name: &str) -> Result<ConfigMap> {
        self.config_maps().create(&PostParams::default(), &self.config_map(name, "0"))
    }

    /// Creates a ConfigMap that an informer of the namespace does not see, and removes it again.
    pub(crate) fn create_elsewhere(&self) -> Result<ConfigMap> {
        let mut object = self.config_map(&self.namespace, "0");
        object.metadata.namespace = Some("default".to_owned());
        let elsewhere = Api::<ConfigMap>::namespaced(&self.client, "default");
        let created = elsewhere.create(&PostParams::default(), &object)?;
        elsewhere.delete(&self.namespace, &DeleteParams::default())?;
        Ok(created)
    }

    /// Creates a ConfigMap with one label.
    pub(crate) fn create_labelled(&self, name: &str, label: (&str, &str)) -> Result<ConfigMap> {
        let mut object = self.config_map(name, "0");
        object.metadata.labels = Some(BTreeMap::from([(label.0.to_owned(), label.1.to_owned())]));
        self.config_maps().create(&PostParams::default(), &object)
    }

    /// Changes a ConfigMap and writes it back.
    pub(crate) fn change(
        &self,
        object: &ConfigMap,
        change: impl FnOnce(&mut ConfigMap),
    ) -> Result<ConfigMap> {
        let mut object = object.clone();
        change(&mut object);
        let name = object.meta().name.to_owned();
        self.config_maps().replace(&name, &PostParams::default(), &object)
    }

    /// Gives a ConfigMap another value.
    pub(crate) fn update(&self, object: &ConfigMap, value: &str) -> Result<ConfigMap> {
        let data = BTreeMap::from([("value".to_owned(), value.to_owned())]);
        self.change(object, |object| object.data = Some(data))
    }

    pub(crate) fn delete(&self, name: &str) -> Result<()> {
        self.config_maps().delete(name, &DeleteParams::default()).map(|_| ())
    }

    /// Those ConfigMaps that the case makes itself; empty where that is all of them.
    pub(crate) fn fields(&self) -> &'static str {
        if self.cluster.can(Ability::Bare) { "" } else { "metadata.name!=kube-root-ca.crt" }
    }

    /// The namespace's ConfigMaps as a source.
    pub(crate) fn source(&self) -> HttpListWatch<ConfigMap> {
        let source = self.config_maps().list_watch();
        match self.fields() {
            "" => source,
            fields => source.field_selector(fields),
        }
    }

    /// An informer of the namespace's ConfigMaps.
    pub(crate) fn informer(&self) -> InformerBuilder<ConfigMap> {
        SharedInformer::builder(self.source())
    }

    /// The same, behind a tap.
    pub(crate) fn tapped(&self) -> (TapHandle, InformerBuilder<ConfigMap>) {
        let tap = TapHandle::new();
        let source = tap.on(self.source());
        (tap, SharedInformer::builder(source))
    }

    /// A factory for the namespace.
    pub(crate) fn factory(&self) -> informer_factory::SharedInformerFactory {
        informer_factory::SharedInformerFactory::builder(self.client.clone())
            .namespace(&self.namespace)
            .build()
    }

    /// Waits until `store` has what was written.
    pub(crate) fn reach<T: Object>(
        &self,
        store: &informer_core::Store<T>,
        written: &impl Object,
    ) -> Result<()> {
        let meta = written.meta();
        store.wait_for(meta.key_ref(), meta.uid, meta.resource_version, PATIENCE)
    }
}

impl Drop for Ground<'_> {
    fn drop(&mut self) {
        // A cluster of somebody else's should not keep what a case leaves; one of our own ends anyway.
        let _ = Api::<Namespace>::all(&self.client).delete(&self.namespace, &DeleteParams::default());
    }
}
