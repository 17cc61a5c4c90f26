DROP TABLE wake_posts;
