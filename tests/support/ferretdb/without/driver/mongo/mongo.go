// Package mongo has the one type of MongoDB's driver that FerretDB uses.
package mongo

// WriteError is the error of one document.
type WriteError struct {
	Index   int
	Code    int
	Message string
}
