-- Run once, when the container of PostgreSQL makes its first database.
CREATE DATABASE studio;
