# examples/data/make_shop.awk: makes the log and the table of items:
#
#   awk -f make_shop.awk > shop.csv
#   awk -v items=1 -f make_shop.awk > shop_items.csv
#
# 180 customers buy 60 things. Each of them has one or two hobbies, comes back every few weeks and buys some things of a
# hobby; popular things of any hobby are in between. The table has two new things that nobody has bought yet.

function draw(n) { # 0 to n - 1
  r = r * 16807 % 2147483647
  return int(r / 100) % n
}

# Things of a hobby that stand first in its list are bought more often.
function thing_of(hobby, at) {
  at = draw(10) * draw(10)
  return things[hobby, at < 20 ? int(at / 2) : at % 10]
}

BEGIN {
  r = 7
  lists["tea"] = "green tea,teapot,black tea,tea strainer,herbal tea,honey,matcha,tea cup,kettle,scones"
  lists["climbing"] = "climbing rope,chalk bag,climbing shoes,carabiner,harness,helmet,finger tape,quickdraws,brush,guidebook"
  lists["painting"] = "watercolours,paint brush,sketchbook,pencils,easel,canvas,palette,ink,charcoal,frame"
  lists["baking"] = "flour,baking tin,yeast,rolling pin,vanilla,cake stand,whisk,sugar,cocoa,apron"
  lists["garden"] = "tomato seeds,watering can,gloves,compost,spade,herb pots,pruner,fertiliser,trellis,bird feeder"
  lists["photo"] = "tripod,camera bag,memory card,lens cloth,film,flash,photo paper,camera strap,filter,album"
  hobbies = split("tea climbing painting baking garden photo", hobby, " ")
  for (h = 1; h <= hobbies; h++) {
    count = split(lists[hobby[h]], list, ",")
    for (i = 1; i <= count; i++) things[h, i - 1] = list[i]
  }
  if (items) {
    lists["tea"] = lists["tea"] ",oolong tea"
    lists["climbing"] = lists["climbing"] ",chalk ball"
    print "item,hobby"
    for (h = 1; h <= hobbies; h++) {
      count = split(lists[hobby[h]], list, ",")
      for (i = 1; i <= count; i++) print list[i] "," hobby[h]
    }
    exit
  }
  print "customer,item,time"
  for (c = 1; c <= 180; c++) {
    first = 1 + draw(hobbies)
    second = 1 + draw(hobbies)
    day = draw(60)
    for (visit = 0; visit < 6 + draw(6); visit++) {
      day += 3 + draw(25)
      which = draw(3) ? first : second
      for (i = 0; i < 1 + draw(3); i++) {
        name = thing_of(draw(8) ? which : 1 + draw(hobbies))
        if (bought[c, name]++) continue
        d = day + 0
        month = 1 + int(d / 28) % 12
        rows[++n] = sprintf("%04d-%02d-%02d\tc%03d,%s", 2025 + int(d / 336), month, 1 + d % 28, c, name)
      }
    }
  }
  # by time; equal days in the order in which they were made
  for (i = 1; i <= n; i++) { split(rows[i], part, "\t"); key[i] = part[1] }
  for (i = 2; i <= n; i++) {
    row = rows[i]; k = key[i]
    for (j = i - 1; j > 0 && key[j] > k; j--) { rows[j + 1] = rows[j]; key[j + 1] = key[j] }
    rows[j + 1] = row; key[j + 1] = k
  }
  for (i = 1; i <= n; i++) { split(rows[i], part, "\t"); print part[2] "," part[1] }
}
