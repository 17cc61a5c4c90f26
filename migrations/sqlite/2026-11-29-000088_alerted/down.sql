UPDATE suspensions SET hands = json_remove(hands, '$.has_alerts') WHERE rid IN (SELECT suspension FROM alerts);
