//go:build tools

package main

import (
	_ "gopkg.in/evanphx/json-patch.v4"
	_ "k8s.io/apimachinery/pkg/util/strategicpatch"
)
