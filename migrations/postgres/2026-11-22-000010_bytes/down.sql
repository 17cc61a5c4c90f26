DROP TABLE agent_bytes;
