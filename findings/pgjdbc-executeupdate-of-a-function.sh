#!/usr/bin/env bash
# With:   PgJDBC 42.5.5 (libpostgresql-jdbc-java), PostgreSQL 15 and a JDK of Debian 12.
# Does:   calls a function that inserts, by `executeUpdate` of a PreparedStatement, under autocommit.
# Sees:   an SQLException (SQLSTATE 0100E, "A result was returned when none was expected"), and the row is
#         there: the statement was carried out and committed. A caller that retries inserts twice.
# For us: `select jobkit.enqueue(…)` is for `executeQuery`, or in a transaction.
set -euo pipefail
bin=/usr/lib/postgresql/15/bin jar=/usr/share/java/postgresql.jar
[ -x "$bin/initdb" ] && [ -e "$jar" ] && command -v javac >/dev/null || { echo "a package is missing"; exit 2; }
folder=$(mktemp -d)
chmod 755 "$folder"
as() { if [ "$(id -u)" = 0 ]; then su postgres -s /bin/bash -c "$1"; else bash -c "$1"; fi; }
[ "$(id -u)" != 0 ] || chown postgres "$folder"
trap 'as "$bin/pg_ctl -D $folder/data -m immediate stop" >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
port=$((20000 + RANDOM % 20000))
as "$bin/initdb -A trust -U postgres -D $folder/data >/dev/null"
options="-k $folder -p $port -c listen_addresses=127.0.0.1"
as "$bin/pg_ctl -w -D $folder/data -l $folder/log -o '$options' start >/dev/null"
cat >"$folder/Call.java" <<'JAVA'
import java.sql.*;

class Call {
    public static void main(String[] args) throws SQLException {
        var url = "jdbc:postgresql://127.0.0.1:" + args[0] + "/postgres?user=postgres";
        try (var connection = DriverManager.getConnection(url); var all = connection.createStatement()) {
            all.execute("create table kept (id int)");
            all.execute("create function keep(int) returns int language sql as "
                + "'insert into kept values ($1) returning id'");
            var call = connection.prepareStatement("select keep(?)");
            call.setInt(1, 7);
            var state = "none";
            try {
                call.executeUpdate();
            } catch (SQLException error) {
                state = error.getSQLState();
            }
            var rows = all.executeQuery("select count(*) from kept");
            rows.next();
            System.out.println("SQLSTATE " + state + ", rows " + rows.getInt(1));
        }
    }
}
JAVA
said=$(java -cp "$jar" "$folder/Call.java" "$port")
echo "$said"
[ "$said" = "SQLSTATE 0100E, rows 1" ]
