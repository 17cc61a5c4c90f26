-- The JSON Schema of a question that is answered with a form.
ALTER TABLE suspensions ADD COLUMN form json;
