package credential_test

// The output of pvfs2-gencred -u 1000 -g 100 of OrangeFS (master of August 2024) on a host with the name "node", with the key in
// testdata/clientkey.pem. pvfs2-gen-keys.sh -s server -c node made that and testdata/keystore for this test.
const (
	stockUser    = 1000
	stockGroup   = 100
	stockIssuer  = "C:node"
	stockTimeout = 2795486434

	stockSignature = "" +
		"884aecddbc83c151615b5ced9c1c09bfa993eda2a7f0b7b0f990dc555faefdb1" +
		"a4a2b280b03857fd310726d4840ff5321fd324fa3a01dce818fc6651cf22d852" +
		"cf0c41eed7c43efcc1736f9c14cf522b557117f0de72ef91cf4ea150725fa7d3" +
		"5a4c3e1d0c9700e52fa836d8c36a86cc020edc9468701d00972020a0c4a8f22f"
)
