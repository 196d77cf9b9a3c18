//go:build tools

// Package tools pins albedo, the origin that CRS 4's regression cases were written for.
package tools

import _ "github.com/coreruleset/albedo"
