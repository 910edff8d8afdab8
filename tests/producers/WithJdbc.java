import java.net.URI;
import java.sql.DriverManager;
import java.sql.SQLException;

class WithJdbc {
    static long placeOrder(String url, String user, long order) throws SQLException {
        try (var connection = DriverManager.getConnection(url, user, "")) {
            connection.setAutoCommit(false); // what is not committed when it closes is rolled back
            // Its texts have a type: this says another. And by executeQuery: it answers with the id.
            var sql = "select jobkit.enqueue('send_receipt', ?::jsonb, p_tags => ?)";
            long job;
            try (var enqueue = connection.prepareStatement(sql)) {
                enqueue.setString(1, "{\"order_id\": " + order + "}");
                enqueue.setArray(2, connection.createArrayOf("text", new String[] {"shop"}));
                var answer = enqueue.executeQuery();
                answer.next();
                job = answer.getLong(1);
            }
            try (var insert = connection.prepareStatement("insert into orders (id) values (?)")) {
                insert.setLong(1, order);
                insert.executeUpdate();
            }
            connection.commit();
            return job;
        }
    }

    public static void main(String[] args) {
        var address = URI.create(System.getenv("DATABASE_URL"));
        var url = "jdbc:postgresql://" + address.getHost() + ":" + address.getPort()
            + address.getPath() + "?sslmode=disable";
        try {
            System.out.println(placeOrder(url, address.getUserInfo(), Long.parseLong(args[0])));
        } catch (SQLException error) {
            var code = String.valueOf(error.getSQLState());
            var what = code.startsWith("JK") ? "refused" : "not placed";
            System.err.println(what + ": " + code + " " + error.getMessage());
            System.exit(1);
        }
    }
}
