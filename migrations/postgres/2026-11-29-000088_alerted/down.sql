UPDATE suspensions SET hands = (hands::jsonb - 'has_alerts')::json WHERE rid IN (SELECT suspension FROM alerts);
