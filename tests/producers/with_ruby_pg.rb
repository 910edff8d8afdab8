require "json"
require "pg"

ENQUEUE = "select jobkit.enqueue('send_receipt', $1, p_tags => $2)"
order = Integer(ARGV[0])
connection = PG.connect(ENV.fetch("DATABASE_URL"))
begin
  job = connection.transaction do
    tags = PG::TextEncoder::Array.new.encode(["shop"])
    enqueued = connection.exec_params(ENQUEUE, [JSON.generate(order_id: order), tags])
    connection.exec_params("insert into orders (id) values ($1)", [order])
    enqueued.getvalue(0, 0)
  end
  puts job
rescue PG::Error => error
  code = error.result&.error_field(PG::Result::PG_DIAG_SQLSTATE).to_s
  abort "#{code.start_with?("JK") ? "refused" : "not placed"}: #{code} #{error.message}"
end
