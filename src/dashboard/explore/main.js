import { drawPage, html } from '../lib/view.js'
import { ExplorePage } from './page.js'

drawPage(html`<${ExplorePage} />`)
