/* report/page_style.h - how a page looks. Private to report/page_parts.c; one string of CSS without anything from outside. */
#ifndef REPORT_PAGE_STYLE_H
#define REPORT_PAGE_STYLE_H

/* clang-format off */
static const char page_style[] =
":root{color-scheme:light dark;--bg:#fff;--ink:#1b1f24;--soft:#5b6470;--line:#d5dae0;--panel:#f5f7f9;"
"--good:#1d6b3a;--bad:#a32236;--open:#7a5a0a}\n"
"@media (prefers-color-scheme:dark){:root{--bg:#14171c;--ink:#e7eaee;--soft:#a3acb8;--line:#3a414b;--panel:#1d2229;"
"--good:#6cc98d;--bad:#f08a98;--open:#e0b95c}}\n"
"*{box-sizing:border-box}\n"
"body{margin:0 auto;max-width:940px;padding:1.5rem 1.2rem 3rem;background:var(--bg);color:var(--ink);"
"font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;overflow-wrap:anywhere}\n"
"h1{font-size:1.5rem;line-height:1.25;margin:0}\n"
"h2{font-size:1.15rem;margin:2.2rem 0 .5rem}\n"
".meta{color:var(--soft);margin:.2rem 0 0;font-size:.9rem}\n"
".verdict{border:1px solid var(--line);border-left:8px solid var(--open);background:var(--panel);padding:.9rem 1.1rem;"
"margin:1.2rem 0;border-radius:4px}\n"
".verdict.good{border-left-color:var(--good)}.verdict.bad{border-left-color:var(--bad)}\n"
".verdict .word{font-size:1.6rem;font-weight:700;line-height:1.2;margin:0;color:var(--open)}\n"
".verdict.good .word{color:var(--good)}.verdict.bad .word{color:var(--bad)}\n"
".verdict p{margin:.35rem 0 0}.verdict .head{font-size:1.1rem}\n"
".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:.6rem;margin:0;padding:0;list-style:none}\n"
".tiles li{border:1px solid var(--line);border-radius:4px;padding:.5rem .7rem}\n"
".tiles b{display:block;font-size:1.2rem;font-variant-numeric:tabular-nums}.tiles li>span{color:var(--soft);font-size:.85rem}\n"
"ol.next{padding-left:1.4rem}ol.next li{margin:.5rem 0}\n"
"code{font:.9em ui-monospace,'DejaVu Sans Mono',monospace;background:var(--panel);border:1px solid var(--line);"
"border-radius:3px;padding:.05em .3em;display:inline-block;max-width:100%}\n"
"figure{margin:2.2rem 0}figure h2{margin:0 0 .3rem}\n"
".plot{overflow-x:auto;border:1px solid var(--line);border-radius:4px;padding:.3rem}\n"
".plot svg{display:block;width:100%;min-width:620px;height:auto;color:var(--ink)}\n"
"figcaption{color:var(--soft);font-size:.9rem;margin-top:.4rem}\n"
".nodata{border:1px dashed var(--soft);border-radius:4px;padding:1.4rem 1rem;margin:0;text-align:center;color:var(--soft)}\n"
".scroll{overflow-x:auto;overflow-wrap:normal}\n"
"table{border-collapse:collapse;width:100%;font-size:.92rem;margin:.4rem 0 1rem}\n"
"th,td{text-align:left;padding:.28rem .6rem .28rem 0;border-bottom:1px solid var(--line);vertical-align:top}\n"
"th{font-weight:600}td.num,th.num{text-align:right;font-variant-numeric:tabular-nums}td.num{white-space:nowrap}\n"
"td.wide{width:45%}.across th:first-child{font-weight:400}.across td,.across th+th{text-align:right}\n"
"caption{text-align:left;font-weight:700;padding:.6rem 0 .2rem}\n"
"ul.notes{padding-left:1.2rem;font-size:.92rem}ul.notes li{margin:.25rem 0}\n"
".unknown{color:var(--soft)}\n"
"footer{margin-top:2.5rem;color:var(--soft);font-size:.85rem;border-top:1px solid var(--line);padding-top:.6rem}\n"
"@media (max-width:560px){body{padding:1rem .8rem 2rem}h1{font-size:1.25rem}.verdict .word{font-size:1.35rem}"
".tiles{grid-template-columns:1fr 1fr}}\n"
"@media print{:root{color-scheme:light;--bg:#fff;--ink:#000;--soft:#333;--line:#999;--panel:#fff;--good:#000;--bad:#000;"
"--open:#000}body{max-width:none;padding:0;font-size:10.5pt}figure,.verdict,tr,.tiles li{break-inside:avoid}"
"h2,caption{break-after:avoid}.plot,.scroll{overflow:visible}.plot svg{min-width:0}.scroll table{font-size:8pt}}\n";
/* clang-format on */

#endif
