import { html, render } from '../lib/view.js'
import { ExplorePage } from './page.js'

render(html`<${ExplorePage} />`, /** @type {HTMLElement} */ (document.getElementById('app')))
