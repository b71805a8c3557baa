package sqlite

import (
	"fmt"
	"strings"
	"sync"

	"github.com/FerretDB/FerretDB/internal/backends/sqlite/metadata"
	"github.com/FerretDB/FerretDB/internal/handler/sjson"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/must"
)

// Compiled into FerretDB's package (see build.ts). FerretDB reads and decodes all documents of a collection unless a
// filter is only one `_id`, which takes more than half of its processor time in the tests.

// whereID selects the documents that a filter with an `_id`, or `$in` of some, can match. FerretDB applies the whole
// filter to them.
func whereID(filter *types.Document) (string, []any) {
	if filter.Len() == 0 {
		return "", nil
	}

	id, _ := filter.Get("_id")
	ids := []any{id}

	if operators, ok := id.(*types.Document); ok && operators.Len() == 1 {
		in, _ := operators.Get("$in")
		list, ok := in.(*types.Array)

		// SQLite limits the parameters of a statement.
		if !ok || list.Len() == 0 || list.Len() > 10_000 {
			return "", nil
		}

		ids = ids[:0]
		for i := range list.Len() {
			ids = append(ids, must.NotFail(list.Get(i)))
		}
	}

	args := make([]any, len(ids))

	for i, each := range ids {
		switch each.(type) {
		case string, types.ObjectID:
			args[i] = string(must.NotFail(sjson.MarshalSingleValue(each)))
		default:
			return "", nil
		}
	}

	places := strings.Repeat(", ?", len(args))[2:]

	return fmt.Sprintf(` WHERE %s IN (%s)`, metadata.IDColumn, places), args
}

// keptBytes limits the JSON text of the documents in decoded.
const keptBytes = 32 << 20

// decoded has documents by their JSON text.
var decoded = struct {
	sync.Mutex
	documents map[string]*types.Document
	bytes     int
}{documents: map[string]*types.Document{}}

// decode returns a document of its own for each call, and parses each text once.
func decode(text []byte) (*types.Document, error) {
	decoded.Lock()
	found := decoded.documents[string(text)]
	decoded.Unlock()

	if found != nil {
		return found.DeepCopy(), nil
	}

	document, err := sjson.Unmarshal(text)
	if err != nil {
		return nil, err
	}

	kept := document.DeepCopy()

	decoded.Lock()
	defer decoded.Unlock()

	if decoded.bytes += len(text); decoded.bytes > keptBytes {
		decoded.documents = map[string]*types.Document{}
		decoded.bytes = len(text)
	}

	decoded.documents[string(text)] = kept

	return document, nil
}
