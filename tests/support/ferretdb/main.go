// A MongoDB-speaking server for the contract suites, where no real MongoDB can be had.
//
// Usage: ferretdb <data dir> <host:port>. Prints "listening" when ready; ends when standard input closes, so
// that it cannot outlive the tests that started it, not even when they are killed.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: ferretdb <data dir> <host:port>")
		os.Exit(2)
	}

	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: os.Args[2]},
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		// A kill of the process loses no write that the system has taken.
		SQLiteURL: "file:" + os.Args[1] + "/?_pragma=synchronous(off)",
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()

	go func() {
		// Blocks until the listener runs.
		_ = server.MongoDBURI()
		fmt.Println("listening")
	}()

	if err := server.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
