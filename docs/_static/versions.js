// The versions of a published site; docs/tools/versions.py fills the list.
window.documentationVersions = [];
