import { Hono } from 'hono'

// Ponder does not start without a web server of the user's.
export default new Hono()
