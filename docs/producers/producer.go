// go mod init shop; go get github.com/lib/pq; go run producer.go 7: stores an order and its job, both or neither
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"

	"github.com/lib/pq"
)

const enqueue = "select jobkit.enqueue('send_receipt', $1, p_tags => $2)"

func placeOrder(db *sql.DB, order string) (job int64, err error) {
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // after the commit it does nothing
	receipt := fmt.Sprintf(`{"order_id": %s}`, order)
	if err = tx.QueryRow(enqueue, receipt, pq.Array([]string{"shop"})).Scan(&job); err != nil {
		return 0, err
	}
	if _, err = tx.Exec("insert into orders (id) values ($1)", order); err != nil {
		return 0, err
	}
	return job, tx.Commit()
}

func main() {
	db, _ := sql.Open("postgres", os.Getenv("DATABASE_URL"))
	job, err := placeOrder(db, os.Args[1])
	if said, ok := err.(*pq.Error); ok && said.Code.Class() == "JK" {
		log.Fatalf("refused: %s %s", said.Code, said.Message) // the same again fails again
	} else if err != nil {
		log.Fatal("not placed: ", err)
	}
	fmt.Println(job)
}
